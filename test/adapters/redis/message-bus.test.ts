// The bus when Redis goes away while an envelope is being settled.
import { expect, it } from 'vitest';
import { type Link, unavailable } from '../../../adapters/redis/link.ts';
import { openMessageBus } from '../../../adapters/redis/message-bus.ts';
import { ManualClock, settled } from '../../clock.ts';
import { silentLog } from '../../log.ts';

it('tells of the failure once, and leaves none that would end the process', async () => {
  const fail = () => Promise.reject(unavailable());
  const away = { send: fail, run: fail, close: async () => {} } as unknown as Link;
  const asleep = { send: () => new Promise(() => {}), close: async () => {} } as unknown as Link;
  const clock = new ManualClock();
  const bus = openMessageBus({
    link: away,
    blocking: asleep,
    prefix: 'p:',
    node: 'n',
    clock,
    log: silentLog,
  });
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  try {
    const reply = { to: 'other', reply: { id: 'envelope', value: 1 } };
    await expect(bus.acknowledge({ shard: 1, position: '1-0' }, reply)).rejects.toMatchObject({
      code: 'unavailable',
    });
    await settled();
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});
