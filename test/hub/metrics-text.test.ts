// A scrape whose metrics are read side by side.
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addGauge } from '../../src/hub/metrics/series.ts';
import { metricsText } from '../../src/hub/metrics/text.ts';

it('fails with the metric that cannot be read, and leaves no rejection to the process', async () => {
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', note);
  try {
    const registry = new Registry();
    addGauge(registry, 'first', 'cannot be read', () => Promise.reject(new Error('away')));
    for (let i = 0; i < 10; i++)
      addGauge(registry, `later_${i}`, 'is read', () => [{ labels: {}, value: i }]);
    await expect(metricsText(registry)).rejects.toThrow('away');
    expect(rejections).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});

it('contains each metric in the order of the registry', async () => {
  const registry = new Registry();
  addGauge(registry, 'slow', 'answers late', async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return [{ labels: { kind: 'a' }, value: 1 }];
  });
  addGauge(registry, 'quick', 'answers at once', () => [{ labels: {}, value: 2 }]);
  const lines = (await metricsText(registry)).split('\n').filter((line) => line && !line.startsWith('#'));
  expect(lines).toEqual(['slow{kind="a"} 1', 'quick 2']);
});
