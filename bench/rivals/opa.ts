// Open Policy Agent: the contracts of the scenario `evaluate` as rules, asked over HTTP.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractCount } from '../scenarios/engine.ts';
import { type HttpCall, HttpCaller } from '../suite/http-call.ts';
import {
  fillTemplate,
  freePorts,
  installHint,
  locateByVersion,
  makeRivalFolder,
  startRival,
} from './process.ts';
import type { DecisionRival } from './rival.ts';

/** The rules of `bench/rivals/opa.rego`, repeated up to the number of contracts. */
export function opaRules(): string {
  const [head = '', ...rules] = fillTemplate('opa.rego', {}).split(/\n\n(?=deny )/);
  const repeated = Array.from({ length: contractCount }, (_, n) =>
    (rules[n % rules.length] ?? '')
      .trim()
      .replaceAll('{id}', `c${n}`)
      .replaceAll('{tool}', n % 3 === 0 ? 'startswith(input.tool, "write_")' : 'input.tool'),
  );
  return [head.trim(), ...repeated, ''].join('\n\n');
}

const call: HttpCall = {
  method: 'POST',
  path: '/v1/data/bench/deny?metrics=true',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    input: {
      tool: 'write_1',
      environment: 'production',
      principal: { role: 'analyst' },
      args: { path: '/workspace/{n}.md', command: 'cat {n}', body: 'numbers of {n}', size: 4096 },
    },
  }),
};

interface OpaAnswer {
  readonly result?: readonly string[];
  readonly metrics?: { readonly timer_rego_query_eval_ns?: number };
}

/** @throws Error for an answer without a decision or its time */
function readEvaluationTime(text: string): number {
  const { result, metrics } = JSON.parse(text) as OpaAnswer;
  const nanoseconds = metrics?.timer_rego_query_eval_ns;
  if (result?.length !== 0 || nanoseconds === undefined) {
    throw new Error(`Every rule must pass the call: ${text.slice(0, 200)}`);
  }
  return nanoseconds / 1000;
}

export const opa: DecisionRival = {
  name: 'opa',
  kind: 'decisions',
  about: 'Open Policy Agent (Go)',
  files: ['opa.rego'],
  source: { kind: 'go', module: 'github.com/open-policy-agent/opa@v1.22.2' },
  locate: locateByVersion('opa', ['version'], /Version: (\S+)/, installHint('opa')),
  async start({ program }) {
    const folder = makeRivalFolder();
    const [port = 0] = await freePorts(1);
    const rules = join(folder, 'bench.rego');
    writeFileSync(rules, opaRules());
    const args = ['run', '--server', '--addr', `127.0.0.1:${port}`, '--log-level', 'error', rules];
    const server = await startRival({
      program,
      args: [...args, '--disable-telemetry'],
      ports: [port],
      folder,
    });
    const origin = `http://127.0.0.1:${port}`;
    const caller = new HttpCaller(origin);
    return {
      ...server,
      origin,
      call,
      async decide(n) {
        const body = (call.body ?? '').replaceAll('{n}', String(n));
        return readEvaluationTime(await caller.call({ ...call, body }));
      },
      async stop() {
        caller.close();
        await server.stop();
      },
    };
  },
};
