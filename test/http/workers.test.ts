// A loop is what its last turn says it is.
import { expect, it } from 'vitest';
import { createWorkers } from '../../src/hub/workers.ts';
import { ManualClock } from '../clock.ts';

it('is running while it turns in time, crashed when it has not, running again when it does, stopped with its node', () => {
  const clock = new ManualClock();
  const workers = createWorkers(clock);
  const turned = workers.add('sweep', 8000);
  workers.add('push', 100_000);
  expect(workers.states()).toEqual({ sweep: 'running', push: 'running' });
  clock.advance(8001);
  expect(workers.states()).toEqual({ sweep: 'crashed', push: 'running' });
  turned();
  expect(workers.states().sweep).toBe('running');
  workers.stop();
  expect(workers.states()).toEqual({ sweep: 'stopped', push: 'stopped' });
});
