// A guard's warnings of contracts that can never match, as it puts them in use: once, with their place, wherever they
// came from.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ContractFinding, Guard, type GuardOptions } from '../src/index.ts';

const document = (when: string, more = ''): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
${more}contracts:
  - { id: no, type: pre, tool: read, when: { ${when} }, then: { effect: deny, message: "no" } }
`;

function listening(options: GuardOptions = {}) {
  const told: (readonly ContractFinding[])[] = [];
  const heard: GuardOptions = { ...options, onFindings: (findings) => void told.push(findings) };
  return { told, heard };
}

describe('a guard says what would never match', () => {
  it('with place, contract and what was probably meant', () => {
    const { told, heard } = listening();
    Guard.fromYaml(document('arg.path: { equals: a }'), heard);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject([
      { severity: 'error', code: 'unknown-root', contract: 'no', document: 1, line: 6, suggestion: 'args' },
    ]);
  });

  it('and is silent about contracts that are fine', () => {
    const { told, heard } = listening();
    Guard.fromYaml(document('args.path: { equals: a }'), heard);
    expect(told).toEqual([]);
  });

  it('of each document in layers, knowing the tools of the others', () => {
    const limits = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: limits }
defaults: { mode: enforce }
contracts:
  - id: cap
    type: session
    limits: { max_calls_per_tool: { read: 3, raed: 3 } }
    then: { effect: deny, message: "enough" }
`;
    const { told, heard } = listening();
    Guard.fromYaml([document('args.path: { equals: a }'), limits], heard);
    expect(told).toMatchObject([
      [{ code: 'unknown-tool', contract: 'cap', document: 2, suggestion: 'read' }],
    ]);
  });

  it('of a tool one letter beside a declared one, also beside one in another document', () => {
    const { told, heard } = listening();
    const declaring = document('args.path: { equals: a }', 'tools: { raed: { side_effect: read } }\n');
    Guard.fromYaml(declaring, heard);
    Guard.fromYaml([document('args.path: { equals: a }'), declaring.replace('id: no', 'id: other')], heard);
    expect(told).toMatchObject([
      [{ code: 'unknown-tool', contract: 'no', document: 1, suggestion: 'raed' }],
      [
        { code: 'unknown-tool', contract: 'no', document: 1, suggestion: 'raed' },
        { code: 'unknown-tool', contract: 'other', document: 2, suggestion: 'raed' },
      ],
    ]);
  });

  it('but not of tools whose arguments a glob declares', () => {
    const { told, heard } = listening({ toolArguments: { 'run_*': { input: 'command' } } });
    Guard.fromYaml(document('args.path: { equals: a }').replace('tool: read', 'tool: run_x'), heard);
    expect(told).toEqual([]);
  });

  it('but not of selectors that the guard registers', () => {
    const { told, heard } = listening({ selectors: { ticket: () => ({}) } });
    Guard.fromYaml(document('ticket.state: { equals: open }'), heard);
    expect(told).toEqual([]);
  });

  it('again when others are put in use', () => {
    const { told, heard } = listening();
    const guard = Guard.fromYaml(document('args.path: { equals: a }'), heard);
    guard.reload(document('principal.roles: { contains: admin }'));
    expect(told).toMatchObject([[{ code: 'unknown-principal-field', suggestion: 'principal.role' }]]);
  });

  it('of a file as well, as a warning of the process by default', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reeve-findings-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'contracts.yaml');
    await writeFile(file, document('ticket.state: { equals: "{args.state}" }'));
    const heard = once(process, 'warning');
    await Guard.fromFile(file);
    const [warning] = (await heard) as [Error];
    expect(warning).toMatchObject({ name: 'ReeveWarning', code: 'REEVE_DEAD_CONTRACT' });
    expect(warning.message).toContain("line 6, column 46: contract 'no': ticket is not a built-in root");
    expect(warning.message).toContain('{args.state} is compared literally');
  });

  it('to nobody when asked so, and a callback that throws does not stop it', () => {
    const dead = document('arg.path: { equals: a }');
    const failures: string[] = [];
    Guard.fromYaml(dead, { onFindings: null });
    const guard = Guard.fromYaml(dead, {
      onFindings: () => {
        throw new Error('deaf');
      },
      onError: (_failure, what) => void failures.push(what),
    });
    expect(guard.bundleName).toBe('guardrails');
    expect(failures).toEqual(['calling onFindings']);
  });
});
