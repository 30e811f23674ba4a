export { assertMaySet, findSubject } from './find-subject.js';
export { readAvatar } from './read-avatar.js';
export { removeAvatar, setAvatar } from './set-avatar.js';
