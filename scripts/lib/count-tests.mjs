/**
 * Counts vitest's JSON report. A file that could not be loaded has no tests, and is one failure; so is a run that
 * vitest itself calls failed (an unhandled error, say) though every test passed.
 * @param {{ testResults: { status: string, assertionResults: { status: string }[] }[] } | null} report
 * @param {number} exitCode
 */
export function countTests(report, exitCode) {
  const files = report?.testResults ?? [];
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((test) => test.status === 'passed').length;
  const broken = files.filter((file) => file.status === 'failed' && !file.assertionResults.some(isFailed)).length;
  const failed = tests.filter(isFailed).length + broken;
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}

const isFailed = (/** @type {{ status: string }} */ test) => test.status === 'failed';
