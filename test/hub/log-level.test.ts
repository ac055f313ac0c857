// The level of the log for a while, and the settings' level after it.
import { expect, it } from 'vitest';
import { createLogLevel } from '../../src/hub/log-level.ts';
import { ManualClock } from '../clock.ts';

it('lasts until its time, and a second change replaces the first one', () => {
  const clock = new ManualClock();
  const logger = { level: 'info' };
  const level = createLogLevel(logger, 'info', clock);
  level.set('debug', clock.now() + 60_000);
  clock.advance(50_000);
  level.set('error', clock.now() + 60_000);
  clock.advance(59_999);
  expect([logger.level, level.current()]).toEqual(['error', 'error']);
  clock.advance(1);
  expect([logger.level, level.current(), clock.pending]).toEqual(['info', 'info', 0]);
  level.set('debug', clock.now() - 1);
  clock.advance(0);
  expect(level.current()).toBe('info');
});
