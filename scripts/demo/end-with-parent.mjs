// Loaded before the service: when the demo is killed, and can end nothing any more, its service ends by itself.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
