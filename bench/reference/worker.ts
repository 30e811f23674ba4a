import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

/** The reference's worker: same settings, same server, same mock. */
const [address = '', namespace = '', provider = '', workflowsPath = ''] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'bench-reference',
  workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }),
  activities: {
    async callModel(key: string): Promise<void> {
      const response = await fetch(`${provider}/chat/completions`, { method: 'POST', body: JSON.stringify({ key }) });
      await response.text();
    },
  },
  maxConcurrentActivityTaskExecutions: 100,
});
process.on('message', () => worker.shutdown());
process.send?.({ ready: true });
await worker.run();
process.disconnect?.();
