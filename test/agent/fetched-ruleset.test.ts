// Reports in an agent's fetches about the document that it runs.
import { expect, it } from 'vitest';
import {
  type FetchedRuleset,
  fetchedMs,
  fetchedName,
  mergedFetches,
} from '../../src/agent/rules/fetched-ruleset.ts';

const after = (...fetches: readonly (readonly [name: string, at: number])[]): FetchedRuleset | null =>
  fetches.reduce<FetchedRuleset | null>(
    (known, [bundleName, at]) => mergedFetches(known, { bundleName, at, otherUntil: 0 }),
    null,
  );

it('one name counts for a day after its last fetch', () => {
  expect(fetchedName(after(), 0)).toBeNull();
  const fetched = after(['a', 0], ['a', 1000]);
  expect(fetchedName(fetched, 1000 + fetchedMs - 1)).toBe('a');
  expect(fetchedName(fetched, 1000 + fetchedMs)).toBeNull();
});

it('none counts while another was fetched within a day, whichever came first', () => {
  const both = after(['a', 0], ['b', 1000], ['b', 2000]);
  expect(fetchedName(both, 2000)).toBeNull();
  expect(fetchedName(both, fetchedMs - 1)).toBeNull();
  expect(fetchedName(both, fetchedMs)).toBe('b');
  expect(fetchedName(after(['a', 0], ['b', 1000], ['a', 2000]), fetchedMs)).toBeNull();
  expect(fetchedName(after(['a', 0], ['b', 1000], ['c', 2000]), fetchedMs)).toBeNull();
  expect(fetchedName(after(['a', 0], ['b', 1000], ['c', 2000]), fetchedMs + 1000)).toBe('c');
});

it('what two nodes know comes to the same in either order', () => {
  const [one, other] = [after(['a', 0], ['a', 500]), after(['b', 200])];
  if (!one || !other) throw new Error('both were fetched');
  const merged = mergedFetches(one, other);
  expect(mergedFetches(other, one)).toEqual(merged);
  expect(fetchedName(merged, 1000)).toBeNull();
  expect(fetchedName(merged, 200 + fetchedMs)).toBe('a');
});
