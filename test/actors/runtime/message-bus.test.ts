// The bus in memory, which the tests of the runtime stand on, keeps the promises of its port.
import { ManualClock } from '../../clock.ts';
import { postContract } from '../../conformance/message-bus.ts';
import { MemoryBus } from './memory-bus.ts';

postContract('memory', async () => {
  const bus = new MemoryBus(new ManualClock(), 2000);
  return { maxEnvelopes: 2000, node: async (name) => bus.bus(name), close: async () => {} };
});
