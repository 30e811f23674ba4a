// Loaded before the service: it exits when the demo is killed and cannot stop it.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
