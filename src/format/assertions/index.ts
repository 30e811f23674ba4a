export { ASSERTION_TYPES, type Assertion, type AssertionResult, type AssertionType } from './assertion.js';
export { readAssertion } from './read-assertion.js';
