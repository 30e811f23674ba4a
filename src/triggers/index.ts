export type { Delivered } from './deliver.js';
export { receiveMail } from './inbox/receive-mail.js';
export { listDeliveries } from './list-deliveries.js';
export { receiveHook } from './receive-hook.js';
export { findDelivery, redeliver } from './redeliver.js';
export { rotateHook } from './rotate-hook.js';
export { shownAddresses } from './shown-addresses.js';
export { startTriggerLoops, type TriggerLoops } from './trigger-loops.js';
