// Cards: what people read of an approval, and when they may decide by it.
import { describe, expect, it } from 'vitest';
import { cardOf, fairShare } from '../../../adapters/messengers/card.ts';
import type { Approval } from '../../../src/approval/record.ts';
import { anApproval } from '../../conformance/fixtures.ts';

const requested = (more: Partial<Approval>) =>
  cardOf({ kind: 'requested', approval: anApproval(more), link: 'https://hub.example/x' });

describe('a card', () => {
  it.each([
    { toolArgs: { note: 'n'.repeat(2000), command: 'rm -rf /' } },
    { toolArgs: { command: 'rm -rf /', note: 'n'.repeat(2000) } },
    { toolArgs: { a: 'n'.repeat(900), b: ['m'.repeat(900)], command: 'rm -rf /' } },
  ])('shows a short argument whole beside long ones, and decides nothing', ({ toolArgs }) => {
    const card = requested({ toolArgs });
    expect(card.args?.split('\n')).toContain('command: "rm -rf /"');
    expect(card.args?.length).toBeLessThanOrEqual(1200);
    expect(card.decides).toBeNull();
  });

  it.each([
    { toolName: 't'.repeat(256) },
    { agentId: 'a'.repeat(256) },
    { contractName: 'c'.repeat(256) },
    { message: 'm'.repeat(1201) },
    { toolArgs: { ['n'.repeat(101)]: 1 } },
    { toolArgs: null, argsBytes: 5000 },
  ])('decides nothing where anything is cut', (more) => {
    expect(requested(more).decides).toBeNull();
  });

  it('has the line of the call above its arguments', () => {
    const card = requested({ toolArgs: { to: 'ada', amount: 9800, currency: 'EUR' } });
    expect(card.facts).toContainEqual(['Call', 'EUR 9,800.00 → ada']);
    expect(card.args).toBe('to: "ada"\namount: 9800\ncurrency: "EUR"');
    expect(requested({ toolArgs: null, argsBytes: 5000 }).facts.map(([label]) => label)).not.toContain(
      'Call',
    );
  });

  it('decides a call without arguments, and has no empty text for them', () => {
    const card = requested({ toolArgs: {}, argsBytes: 2 });
    expect([card.args, card.decides === null]).toEqual([null, false]);
  });

  it('decides what it shows whole, and keeps every text on its line', () => {
    const card = requested({ toolName: 'rm\nEnvironment: staging', toolArgs: { 'a\nb': 'c\nd' } });
    expect(card.decides).not.toBeNull();
    expect(card.facts[1]).toEqual(['Tool', 'rm\u240aEnvironment: staging']);
    expect(card.args).toBe('a\u240ab: "c\\nd"');
  });
});

describe('a fair share', () => {
  it('leaves short texts whole and divides the rest', () => {
    expect(fairShare([10, 20], 100)).toBe(100);
    expect(fairShare([10, 500, 500], 100)).toBe(45);
    expect(fairShare([], 100)).toBe(100);
  });
});
