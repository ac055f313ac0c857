// Which approvals the filters of a channel let through.
import { expect, it } from 'vitest';
import { type ChannelFilters, type NotifiedCall, wants } from '../../src/notification/record.ts';

const none: ChannelFilters = {
  environments: null,
  agentPatterns: null,
  contractNames: null,
  rulesetNames: null,
};
const call: NotifiedCall = {
  env: 'production',
  agentId: 'mail-1',
  contractNames: ['ask-deploy'],
  rulesetName: 'team',
};

it.each<[names: readonly string[] | null, over: Partial<NotifiedCall>, expected: boolean]>([
  [null, {}, true],
  [[], {}, true],
  [['team'], {}, true],
  [['te*'], {}, true],
  [['ask-*'], {}, true],
  [['other', 'ask-deploy'], {}, true],
  [['other'], {}, false],
  [['other'], { rulesetName: null }, false],
  [['team'], { rulesetName: null }, false],
  [['team'], { contractNames: [] }, true],
  [['other'], { contractNames: [] }, false],
  [['other'], { contractNames: [], rulesetName: null }, true],
])('%j as names of rulesets and rules: %j is wanted: %j', (rulesetNames, over, expected) => {
  expect(wants({ ...none, rulesetNames }, { ...call, ...over })).toBe(expected);
});

it('names of contracts do not fit rulesets', () => {
  expect(wants({ ...none, contractNames: ['team'] }, call)).toBe(false);
  expect(wants({ ...none, contractNames: ['ask-deploy'], rulesetNames: ['team'] }, call)).toBe(true);
});
