// Ordinary calls of coding agents pass: a false refusal is as bad as a hole.
import { describe, expect, it } from 'vitest';
import { ordinaryArguments, ordinaryCommands } from './ordinary.ts';
import { leaves } from './sandboxes.ts';

const box = 'within: [/w], not_within: [/w/secret], allows: {domains: [github.com, "*.github.com"]}';

describe('a sandbox around the project', () => {
  it.each(ordinaryCommands)('lets %j pass', (command) => {
    expect(leaves(box, { command })).toBe(false);
  });

  it.each(ordinaryArguments.map((args) => [args]))('lets %j pass', (args) => {
    expect(leaves(box, args)).toBe(false);
  });

  it('lets them pass where their programs are listed', () => {
    const firsts = ordinaryCommands
      .map((command) => command.split(/\s/)[0])
      .filter((word) => !word?.includes('='));
    const listed = `allows: {commands: ${JSON.stringify([...new Set(firsts)])}}`;
    const writes = /(?:^|\s)(?:&?>{1,2}) ?\w/;
    for (const command of ordinaryCommands.filter((one) => !writes.test(one) && !/^\w+=/.test(one)))
      expect([command, leaves(listed, { command })]).toEqual([command, false]);
    expect(ordinaryCommands.length + ordinaryArguments.length).toBeGreaterThan(150);
  });
});
