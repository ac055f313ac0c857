// The rule engine in a process of its own: one call against 100 contracts that all evaluate and pass it, and the same
// conditions in plain code as the bound.
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { compileBundle, evaluateCall } from 'reeve-agent/rules';
import { ClientProcess, nextTurn, serveOrders } from '../suite/client-process.ts';
import { newHistogram } from '../suite/histogram.ts';

export const contractCount = 100;
/** Between two of them, the end of the suite reaches the process. */
const callsOfTurn = 1000;
export const byHandText = 'the same conditions in plain code';

export type EngineSubject = 'engine' | 'byHand';

export interface EngineResult {
  /** Processor time of the thread per call, microseconds. */
  readonly time: number;
  /** Of each call: HdrHistogram V2, base64, in nanoseconds. */
  readonly durations: string;
}

interface Order {
  readonly subject: EngineSubject;
  readonly calls: number;
}

export class Engine extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'engine');
  }

  measure(order: Order): Promise<EngineResult> {
    return this.request(order);
  }
}

/** @param whens conditions as YAML in flow style; every third contract covers all tools, the others `write_*` */
export function bundleOf(whens: readonly string[], name = 'bench'): string {
  const contracts = whens.flatMap((when, i) => [
    `  - {id: c${i}, type: pre, tool: "${i % 3 ? '*' : 'write_*'}", when: {${when}},`,
    '     then: {effect: deny, message: "Denied {args.path}"}}',
  ]);
  return [
    'apiVersion: service/v1',
    'kind: ContractBundle',
    `metadata: {name: ${name}}`,
    'defaults: {mode: enforce}',
    'contracts:',
    ...contracts,
    '',
  ].join('\n');
}

interface Call {
  readonly tool: string;
  readonly environment: string;
  readonly principal: { readonly role: string };
  readonly args: {
    readonly path: string;
    readonly command: string;
    readonly body: string;
    readonly size: number;
  };
}

/** Conditions of many shapes, each with the same test in plain code. */
const conditions: readonly (readonly [yaml: string, byHand: (call: Call) => boolean])[] = [
  ['args.path: {matches: "\\\\.(env|pem|key)$"}', ({ args }) => /\.(env|pem|key)$/.test(args.path)],
  [
    'args.path: {contains_any: ["/etc/shadow", "/root/.ssh"]}',
    ({ args }) => ['/etc/shadow', '/root/.ssh'].some((part) => args.path.includes(part)),
  ],
  [
    'args.command: {matches: "\\\\brm\\\\s+-[a-z]*[rf]"}',
    ({ args }) => /\brm\s+-[a-z]*[rf]/.test(args.command),
  ],
  [
    'all: [{environment: {equals: production}}, {principal.role: {in: [intern, guest]}}]',
    ({ environment, principal }) =>
      environment === 'production' && ['intern', 'guest'].includes(principal.role),
  ],
  [
    'args.body: {matches: "(?i)drop\\\\s+table|truncate\\\\s+\\\\w+"}',
    ({ args }) => /drop\s+table|truncate\s+\w+/i.test(args.body),
  ],
  [
    'any: [{args.size: {gt: 1000000}}, {args.path: {starts_with: "/proc/"}}]',
    ({ args }) => args.size > 1_000_000 || args.path.startsWith('/proc/'),
  ],
  ['not: {args.path: {exists: true}}', ({ args }) => args.path === undefined],
  [
    'args.body: {matches_any: ["AKIA[0-9A-Z]{16}", "-----BEGIN [A-Z ]*PRIVATE KEY", "\\\\d{3}-\\\\d{2}-\\\\d{4}"]}',
    ({ args }) =>
      [/AKIA[0-9A-Z]{16}/, /-----BEGIN [A-Z ]*PRIVATE KEY/, /\d{3}-\d{2}-\d{4}/].some((pattern) =>
        pattern.test(args.body),
      ),
  ],
];

const conditionOf = (n: number) => conditions[n % conditions.length] as (typeof conditions)[number];

/** A bundle of 100 contracts. @param salt makes the text new to every cache */
export const saltedBundle = (salt: number, name?: string): string =>
  `# ${salt}\n${bundleOf(
    Array.from({ length: contractCount }, (_, n) => conditionOf(n)[0]),
    name,
  )}`;

/** Calls that differ, as an agent's do: equal texts would measure caches. */
const calls: Call[] = Array.from({ length: 1000 }, (_, i) => ({
  tool: `write_${i % 7}`,
  environment: i % 2 ? 'production' : 'staging',
  principal: { role: 'analyst' },
  args: {
    path: `/workspace/reports/${2000 + i}/summary-of-quarter-${i % 4}.md`,
    command: `cat reports/${i}/summary.md`,
    body: `The quarterly numbers of ${i} are attached; see table ${i % 9} for the split by region and the notes below it.`,
    size: 4096 + i,
  },
}));

function makeSubjects(): { readonly [name in EngineSubject]: (call: Call) => unknown } {
  const compiled = compileBundle(saltedBundle(0));
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
  const { bundle } = compiled;
  const counters = { attempts: 1, executions: 0, toolExecutions: 0 };
  const byHand = Array.from({ length: contractCount }, (_, n) => conditionOf(n)[1]);
  for (const call of calls) {
    const { verdict, records } = evaluateCall(bundle, call, { counters });
    if (verdict !== 'allow' || records.length !== contractCount || byHand.some((test) => test(call))) {
      throw new Error('Every contract must evaluate and pass every call.');
    }
  }
  return {
    engine: (call) => evaluateCall(bundle, call, { counters }),
    byHand: (call) => byHand.filter((test) => test(call)).length,
  };
}

let subjects: ReturnType<typeof makeSubjects> | null = null;

async function run(order: Order): Promise<EngineResult> {
  subjects ??= makeSubjects();
  const evaluate = subjects[order.subject];
  const durations = newHistogram();
  const before = process.cpuUsage();
  for (let n = 0; n < order.calls; n++) {
    if (n % callsOfTurn === 0) await nextTurn();
    const call = calls[n % calls.length] as Call;
    const began = process.hrtime.bigint();
    evaluate(call);
    durations.recordValue(Math.max(1, Number(process.hrtime.bigint() - began)));
  }
  const { user, system } = process.cpuUsage(before);
  return { time: (user + system) / order.calls, durations: encodeIntoCompressedBase64(durations) };
}

serveOrders(import.meta.url, run);
