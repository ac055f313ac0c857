// The three surfaces to a tool: a guard in the program, the proxy before an MCP server, the hook of a coding assistant.
// Each sends one call and returns the calls that a tool has executed for it, read as tools read them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../../../../test/random.ts';
import { formats, type HookFormat, readInput } from '../../src/cli/gate/formats.ts';
import { judge } from '../../src/cli/gate/judge.ts';
import { GateState } from '../../src/cli/gate/state.ts';
import { DeniedError, Guard, type GuardOptions, localApproval } from '../../src/index.ts';
import { readBundle } from '../../src/rules/bundle/document.ts';
import { until } from '../manual-clock.ts';
import { Setting } from '../mcp/setting.ts';
import type { Mapping, ReferenceCall } from '../reference/interpreter.ts';
import { callsIn, hasDoubledMember, readingsOf, TextWriter } from './texts.ts';

export interface ExecutedCall {
  readonly tool: string;
  readonly args: Mapping;
}

/** The outcome of one call. */
export interface Outcome {
  /** Every way in which a tool may have read the call; empty: nothing ran. */
  readonly executed: readonly ExecutedCall[];
  /** The sent request, for a trace. */
  readonly sent: string;
  /** A rule of the surface itself that was broken. */
  readonly fault: string | null;
}

/** A surface with contracts behind it. */
export interface Surface {
  readonly name: string;
  /** True if a person is there who may grant a call. */
  readonly asks: boolean;
  call(call: ReferenceCall, random: Random): Promise<Outcome>;
  close(): void;
}

export interface World {
  /** Contracts, as JSON. */
  readonly document: string;
  readonly environment: string | null;
  readonly principal: Mapping | null;
  /** The person's answer. */
  readonly grants: boolean;
}

/** Share of members that are spoiled, in texts that are spoiled at all. */
const spoiledMembers = 0.15;

const guardOptions = ({ environment, principal, grants }: World): GuardOptions => ({
  openTelemetry: null,
  ...(environment === null ? {} : { environment }),
  principal,
  approvals: localApproval(async () => grants),
});

/** Arguments that change after, or while, they are judged. */
function unsteady(args: Mapping, other: Mapping, random: Random): { readonly args: Mapping; change(): void } {
  const own = structuredClone(args);
  const name = random.pick(Object.keys(own));
  const swap = () => Object.assign(own, structuredClone(other));
  switch (random.int(5)) {
    case 0:
      return { args: own, change: swap };
    case 1: {
      let reads = 0;
      const get = () => (reads++ < random.int(4) ? own[name] : other[name]);
      return { args: Object.defineProperty({ ...own }, name, { get, enumerable: true }), change() {} };
    }
    case 2: {
      let reads = 0;
      const limit = random.int(12);
      const get = (target: Mapping, key: string) => (reads++ < limit ? target[key] : other[key]);
      return { args: new Proxy(own, { get: get as ProxyHandler<Mapping>['get'] & object }), change() {} };
    }
    case 3:
      return { args: { ...own, [name]: { toJSON: () => other[name], value: own[name] } }, change() {} };
    default:
      return { args: own, change() {} };
  }
}

export function guardSurface(world: World, others: readonly Mapping[]): Surface {
  const guard = Guard.fromYaml(world.document, guardOptions(world));
  return {
    name: 'guard',
    asks: true,
    async call({ tool, args }, random) {
      const executed: ExecutedCall[] = [];
      const { args: sent, change } = unsteady(args, random.pick(others), random);
      const running = guard.run(tool, sent, async (seen) => {
        executed.push({ tool, args: JSON.parse(JSON.stringify(seen)) as Mapping });
        return 'done';
      });
      const steps = random.int(6);
      for (let i = 0; i < steps; i++) await null;
      change();
      await running.catch((failure: unknown) => {
        if (!(failure instanceof DeniedError) && !(failure instanceof TypeError)) throw failure;
      });
      return { executed, sent: JSON.stringify({ tool, args }), fault: null };
    },
    close() {},
  };
}

const disguisedMethods = ['tools/Call', 'tools/call ', 'Tools/call', 'tools/\u0441all'];

/** A request of the protocol, mostly one that asks for the tool. */
function requestText({ tool, args }: ReferenceCall, id: number, random: Random): string {
  const writer = new TextWriter(random, random.next() < 0.5 ? spoiledMembers : 0);
  const method = random.next() < 0.05 ? random.pick(disguisedMethods) : 'tools/call';
  const params = {
    name: tool,
    arguments: args,
    ...(random.next() < 0.1 ? { _meta: { progressToken: id } } : {}),
  };
  const request = { jsonrpc: '2.0', ...(random.next() < 0.05 ? {} : { id }), method, params };
  const text = writer.write(random.next() < 0.05 ? [request, { ...request, id: `${id}b` }] : request);
  return random.next() < 0.02 ? `\ufeff${text}` : text;
}

export function proxySurface(world: World): Surface {
  const setting = new Setting(world.document, () => ({ result: { content: [] } }), guardOptions(world));
  let nextId = 1;
  return {
    name: 'proxy',
    asks: true,
    async call(call, random) {
      const id = nextId++;
      const text = requestText(call, id, random);
      const before = setting.textsAtServer.length;
      setting.sayText(text);
      await until(() => !setting.session.isBusy, 'the end of the call');
      const texts = setting.textsAtServer.slice(before);
      return {
        executed: texts.flatMap((sent) => readingsOf(sent).flatMap(callsIn)),
        sent: text,
        fault: texts.some(hasDoubledMember) ? 'a doubled member reaches the server' : null,
      };
    },
    close() {},
  };
}

/** The payload of a hook, in one of the two forms that carry any tool. */
function payloadText({ tool, args }: ReferenceCall, format: string, random: Random): string {
  const writer = new TextWriter(random, random.next() < 0.5 ? spoiledMembers : 0);
  const isGeneric = format === 'generic';
  // The assistant itself writes the rest of its payload.
  const own = isGeneric
    ? { cwd: '/w', session: 's' }
    : { hook_event_name: 'PreToolUse', cwd: '/w', session_id: 's' };
  const spoiled = writer.write(isGeneric ? { tool, args } : { tool_name: tool, tool_input: args });
  return `${spoiled.slice(0, -1)},${JSON.stringify(own).slice(1)}`;
}

/** The call that an assistant runs after its hook allowed the payload: its own names, the last of two members. */
function assistantsCall(text: string, format: string): ExecutedCall | null {
  const payload = JSON.parse(text) as Mapping;
  const [tool, args] =
    format === 'generic' ? [payload.tool, payload.args] : [payload.tool_name, payload.tool_input];
  const fields: unknown = typeof args === 'string' ? JSON.parse(args) : (args ?? {});
  if (typeof tool !== 'string' || typeof fields !== 'object' || fields === null) return null;
  return { tool, args: fields as Mapping };
}

export function gateSurface({ document, environment, principal }: World): Surface {
  const read = readBundle(document, { maxContracts: 500 });
  if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('\n'));
  const folder = mkdtempSync(join(tmpdir(), 'reeve-fuzz-'));
  const state = new GateState(folder, 'fuzz');
  state.make();
  const guard = { ...(environment === null ? {} : { environment }), principal };
  const plan = { hub: null, bundleName: null, contracts: ['a'], state: folder, guard, scope: 'fuzz' };
  return {
    name: 'gate',
    asks: false,
    async call(call, random) {
      const name = random.pick(['generic', 'claude-code']);
      const text = payloadText(call, name, random);
      const isAllowed = await verdictOn(text, formats[name] as HookFormat).catch(() => false);
      const executed = isAllowed ? assistantsCall(text, name) : null;
      const isDoubled = executed !== null && hasDoubledMember(text);
      return {
        executed: executed ? [executed] : [],
        sent: text,
        fault: isDoubled ? 'a payload with a doubled member is allowed' : null,
      };
    },
    close: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };

  async function verdictOn(text: string, format: HookFormat): Promise<boolean> {
    const input = readInput(format, text);
    // An event that comes before no tool.
    if (!input) return false;
    const { verdict } = await judge(input, {
      plan,
      state,
      contracts: { policyVersion: 'v', name: 'a', sources: '', documents: read.ok ? read.documents : [] },
      projects: ['/w'],
      asks: false,
      unknown: 'judge',
      warnsOfUnknown: false,
      hubApprovals: async () => null,
      log: () => {},
    });
    return verdict === 'allow';
  }
}
