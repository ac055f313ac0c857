// A node asks whether it alone is cut off from a service.
import { expect, it } from 'vitest';
import { createReach } from '../../src/hub/reach.ts';
import { currentFormat } from '../../src/shared/cluster-format.ts';
import type { Member } from '../../src/shared/ports/membership.ts';
import type { ReachNotes } from '../../src/shared/ports/reach.ts';

const member = (node: string, lacksStore?: true): Member => ({
  node,
  ageMs: 0,
  note: {
    version: '1',
    ...currentFormat,
    startedAt: 0,
    shards: [],
    agents: 0,
    ...(lacksStore ? { lacksStore } : {}),
  },
});

/** Notes of all nodes, as one store keeps them; `down` takes the store away. */
function sharedNotes() {
  const noted = new Map<string, boolean>();
  const state = { down: false };
  const reachable = () => {
    if (state.down) throw new Error('away');
  };
  const notes: ReachNotes = {
    async note(node, isReached) {
      reachable();
      noted.set(node, isReached);
    },
    async isReachedElsewhere(node) {
      reachable();
      return [...noted].some(([other, isReached]) => other !== node && isReached);
    },
  };
  return { notes, state };
}

it('is alone without Redis while another node reaches it, and not once none does', async () => {
  const { notes } = sharedNotes();
  const [a, b] = ['a', 'b'].map((node) => createReach({ node, members: () => [], notes }));
  await b?.isAloneWithout({ store: true, keyValue: true });
  expect(await a?.isAloneWithout({ store: true, keyValue: true })).toBe(false);
  expect(await a?.isAloneWithout({ store: true, keyValue: false })).toBe(true);
  await b?.isAloneWithout({ store: true, keyValue: false });
  expect(await a?.isAloneWithout({ store: true, keyValue: false })).toBe(false);
});

it('is alone without the store while another member has it', async () => {
  const { notes } = sharedNotes();
  const members = [member('a'), member('b')];
  const a = createReach({ node: 'a', members: () => members, notes });
  expect(await a.isAloneWithout({ store: false, keyValue: true })).toBe(true);
  members[1] = member('b', true);
  expect(await a.isAloneWithout({ store: false, keyValue: true })).toBe(false);
  // Without either it hears of nobody.
  members[1] = member('b');
  expect(await a.isAloneWithout({ store: false, keyValue: false })).toBe(false);
});

it('does not fail when a note cannot be written', async () => {
  const { notes, state } = sharedNotes();
  state.down = true;
  const a = createReach({ node: 'a', members: () => [member('a')], notes });
  expect(await a.isAloneWithout({ store: true, keyValue: false })).toBe(false);
});
