// Calls within calls, of one guard and of several in one process.
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Guard } from '../src/index.ts';

const contracts = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: open }
defaults: { mode: enforce }
contracts:
  - { id: few, type: session, limits: { max_attempts: 9 }, then: { effect: deny, message: "too many" } }
`;
const openGuard = (): Guard => Guard.fromYaml(contracts, { openTelemetry: null, onFindings: null });
const callOf = (guard: Guard, tool: string) =>
  guard.events.events.find(({ tool_name }) => tool_name === tool);

afterEach(() => vi.restoreAllMocks());

describe('a call within a call', () => {
  it('has the nearest call of its own guard as its parent, with calls of another one between', async () => {
    const one = openGuard();
    const other = openGuard();
    await one.run('outer', {}, () =>
      other.run('between', {}, async () => {
        await one.run('inner', {}, () => one.run('innermost', {}, () => 'done'));
        await other.run('of-other', {}, () => 'done');
      }),
    );
    expect(callOf(other, 'between')?.parent_call_id).toBeNull();
    expect(callOf(one, 'inner')?.parent_call_id).toBe(callOf(one, 'outer')?.call_id);
    expect(callOf(one, 'innermost')?.parent_call_id).toBe(callOf(one, 'inner')?.call_id);
    expect(callOf(other, 'of-other')?.parent_call_id).toBe(callOf(other, 'between')?.call_id);
  });

  it('keeps its parent within 31 other guards; a 32nd between them hides it', async () => {
    const guard = openGuard();
    const nest = (depth: number, task: () => Promise<unknown>): Promise<unknown> =>
      depth === 0 ? task() : openGuard().run('deeper', {}, () => nest(depth - 1, task));
    await guard.run('outer', {}, async () => {
      await nest(31, () => guard.run('near', {}, () => 'done'));
      await nest(32, () => guard.run('far', {}, () => 'done'));
    });
    expect(callOf(guard, 'near')?.parent_call_id).toBe(callOf(guard, 'outer')?.call_id);
    expect(callOf(guard, 'far')?.parent_call_id).toBeNull();
  });

  it('adds no storage to the process: Node 20 visits each of them at every promise', async () => {
    const enter = vi.spyOn(AsyncLocalStorage.prototype, 'run');
    for (let n = 0; n < 5; n++) await openGuard().run('any', {}, () => 'done');
    expect(enter.mock.contexts).toHaveLength(5);
    expect(new Set(enter.mock.contexts).size).toBe(1);
  });
});
