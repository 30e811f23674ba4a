export { deleteClient } from './delete-client.js';
export { type Connected, finishConnection } from './finish-connection.js';
export { listClients } from './list-clients.js';
export { registerClient } from './register-client.js';
export { startConnection } from './start-connection.js';
export { STATE_MINUTES } from './state-rows.js';
