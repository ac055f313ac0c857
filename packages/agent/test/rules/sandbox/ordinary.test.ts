// Ordinary calls of coding agents pass: a false refusal is as bad as a hole. The few that leave are listed with the
// reason.
import { describe, expect, it } from 'vitest';
import { ordinaryArguments, ordinaryCommands, refusedCommands } from './ordinary.ts';
import { leaves } from './sandboxes.ts';

const box = 'within: [/w], not_within: [/w/secret], allows: {domains: [github.com, "*.github.com"]}';
const refused = Object.entries(refusedCommands).flatMap(([reason, commands]) =>
  commands.map((command) => [command, reason] as const),
);
const refusedLines = new Set(refused.map(([command]) => command));
const passing = ordinaryCommands.filter((command) => !refusedLines.has(command));

describe('a sandbox around the project', () => {
  it.each(passing)('lets %j pass', (command) => {
    expect(leaves(box, { command })).toBe(false);
  });

  it.each(refused)('refuses %j: %s', (command) => {
    expect(ordinaryCommands).toContain(command);
    expect(leaves(box, { command })).toBe(true);
  });

  it('lets 90 of the first hundred pass', () => {
    const hundred = ordinaryCommands.slice(0, 100);
    expect(hundred.filter((command) => !leaves(box, { command })).length).toBeGreaterThanOrEqual(90);
  });

  it.each(ordinaryArguments.map((args) => [args]))('lets %j pass', (args) => {
    expect(leaves(box, args)).toBe(false);
  });

  it('lets them pass where their programs are listed', () => {
    const listed = `allows: {commands: ${JSON.stringify([...new Set(passing.map((command) => command.split(/\s/)[0]))])}}`;
    for (const command of passing) expect([command, leaves(listed, { command })]).toEqual([command, false]);
    expect(passing.length + ordinaryArguments.length).toBeGreaterThan(150);
  });
});
