// The reference's decisions: order, limits, sandboxes, messages and the post phase, straight from the language's
// tables. It shares no code with the product and asks the platform where it can (posix paths, native patterns).
import { posix } from 'node:path';
import {
  fnmatch,
  holds,
  isMapping,
  type Mapping,
  type ReferenceCall,
  select,
  TypeProblem,
  type Value,
} from './interpreter.ts';
import { met } from './tally.ts';

export interface ReferenceRecord {
  id: string;
  type: string;
  fired: boolean;
  policyError: boolean;
  observed: boolean;
  message: string | null;
}
export interface ReferenceCounters {
  attempts: number;
  executions: number;
  toolExecutions: number;
}
export interface ReferenceDecision {
  verdict: string;
  source: string | null;
  name: string | null;
  reason: string | null;
  records: ReferenceRecord[];
}

const shorten = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 3)}...` : text;

function message(template: string, call: ReferenceCall, output: Value): string {
  const text = template.replace(/\{([^}]+)\}/g, (whole, selector: string) => {
    const value = select(selector, call, output);
    if (value === undefined || value === null) return whole;
    const shown = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return shown.startsWith('AKIA') ? '[REDACTED]' : shorten(shown, 200);
  });
  return shorten(text, 500);
}

const paths = ['path', 'src', 'folder'];

/** [key, text] of every string in the arguments. */
function strings(value: Value, key = ''): [string, string][] {
  if (typeof value === 'string') return [[key, value]];
  if (Array.isArray(value)) return value.flatMap((item) => strings(item, key));
  return isMapping(value) ? Object.entries(value).flatMap(([name, item]) => strings(item, name)) : [];
}

const wordsOf = (command: string): string[] =>
  (command.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []).map((word) => word.replace(/^["']|["']$/g, ''));

const looksLikePath = (text: string): boolean => /^(\/|\.\.\/|~\/)/.test(text);

/**
 * Hosts of a text: of the URLs among its words; of the text itself if it is known to be a URL. "" for a URL that is not
 * written as the platform writes it.
 */
function hostsOf(text: string, isUrl: boolean): string[] {
  const urls = isUrl && !text.includes(' ') ? [text] : text.split(' ').filter((word) => word.includes('://'));
  return (urls.length > 0 || !isUrl ? urls : ['']).map((word) => {
    const url = word.includes('://') ? word : `https://${word}`;
    if (!URL.canParse(url)) return '';
    const { href, hostname } = new URL(url);
    return href === url || href === `${url}/` ? hostname : '';
  });
}

function leavesSandbox(box: Mapping, call: ReferenceCall): boolean {
  const texts = strings(call.args).filter(([, text]) => text !== '');
  const { command } = call.args;
  const allows = (box.allows ?? {}) as { commands?: string[]; domains?: string[] };
  if (typeof command === 'number' && allows.commands) throw new TypeProblem();
  const within = box.within as string[] | undefined;
  const line = typeof command === 'string' ? command : '';
  const target = />\s*(?!\/dev\/null)(\S+)/.exec(line)?.[1];
  const words = Array.isArray(command) ? (command as string[]) : wordsOf(line.replace(/\d*>\s*\S+/, ''));
  const named = texts
    .filter(([key, text]) => key !== 'command' && (paths.includes(key) || looksLikePath(text)))
    .map(([, text]) => text);
  if (within) {
    const absolute = (path: string) => posix.resolve(path[0] === '~' ? '/' : (within[0] as string), path);
    const under = (path: string, boundary: Value) =>
      posix.relative(posix.resolve(boundary as string), absolute(path)).split('/')[0] !== '..';
    const parts = words.flatMap((word) => [word, word.split('=').slice(1).join('=')]).filter(looksLikePath);
    for (const path of [...named, ...parts, ...(target === undefined ? [] : [target])]) {
      const leaves =
        ((box.not_within as Value[]) ?? []).some((boundary) => under(path, boundary)) ||
        !within.some((boundary) => under(path, boundary));
      met(`sandbox path=${leaves ? 'leaves' : 'stays'}`);
      if (leaves) return true;
    }
  }
  if (typeof command === 'string' || Array.isArray(command)) {
    const chained = [';', '|', '&', '\n', '\r', '`', '$'];
    const leaves =
      chained.some((mark) => line.includes(mark)) ||
      target !== undefined ||
      // An option that no profile names.
      words.some((word) => word.startsWith('--f')) ||
      (allows.commands !== undefined && !allows.commands.includes(words[0] ?? ''));
    met(`sandbox command=${leaves ? 'leaves' : 'stays'}`);
    if (leaves) return true;
  } else if (allows.commands && named.length === 0 && !texts.some(([key]) => key === 'url')) {
    const tools = (box.tools as string[] | undefined) ?? [box.tool as string];
    if (tools.some((tool) => tool !== '*')) return true;
  }
  const denied = (box.not_allows as { domains?: string[] } | undefined)?.domains ?? [];
  if (!allows.domains) return false;
  for (const host of texts.flatMap(([key, text]) => hostsOf(text, key === 'url'))) {
    const leaves =
      host === '' ||
      denied.some((glob) => fnmatch(glob, host)) ||
      !allows.domains.some((glob) => fnmatch(glob, host));
    met(`sandbox domain=${leaves ? 'leaves' : 'stays'}`);
    if (leaves) return true;
  }
  return false;
}

/** The enabled contracts of a type that look at the call, each with what it says of it. */
function* evaluated(bundle: Mapping, type: string, call: ReferenceCall, output: Value) {
  for (const contract of bundle.contracts as Mapping[]) {
    const tools = (contract.tools as string[] | undefined) ?? [contract.tool as string];
    if (contract.type !== type || contract.enabled === false) continue;
    if (!tools.some((tool) => fnmatch(tool, call.tool))) continue;
    let fired = true;
    let policyError = false;
    try {
      fired = type === 'sandbox' ? leavesSandbox(contract, call) : holds(contract.when, call, output);
    } catch (error) {
      if (!(error instanceof TypeProblem)) throw error;
      policyError = true;
    }
    const observes = (contract.mode ?? (bundle.defaults as Mapping).mode) === 'observe';
    const then = (contract.then ?? contract) as Mapping;
    const record: ReferenceRecord = {
      id: contract.id as string,
      type: { pre: 'precondition', sandbox: 'sandbox', post: 'postcondition' }[type] ?? type,
      fired,
      policyError,
      observed: fired && observes,
      message: fired ? message(then.message as string, call, output) : null,
    };
    met(`contract ${type}:${observes ? 'observe' : 'enforce'}=${fired ? 'fired' : 'passed'}`);
    yield { contract, record, effect: (then.effect ?? contract.outside ?? 'deny') as string };
  }
}

const sessionsOf = (bundle: Mapping): Mapping[] =>
  (bundle.contracts as Mapping[]).filter((one) => one.type === 'session' && one.enabled !== false);

/** A live call, before it runs. */
export function decide(bundle: Mapping, call: ReferenceCall, counters: ReferenceCounters): ReferenceDecision {
  const sessions = sessionsOf(bundle);
  const limits = sessions.map((one) => one.limits as Mapping);
  /** The smallest that a session contract declares; Infinity when none does. */
  const declared = (key: string) =>
    Math.min(Infinity, ...limits.map((one) => (one[key] as number | undefined) ?? Infinity));
  const maxAttempts = declared('max_attempts');
  /** The first contract whose own limit is the smallest. */
  const setter = (least: number, limitOf: (one: Mapping) => number) =>
    sessions.find((one) => limitOf(one.limits as Mapping) === least);
  const records: ReferenceRecord[] = [];
  const end = (verdict: string, source: string | null, name: string | null, reason: string | null) => {
    met(`decision ${verdict}:${source ?? 'none'}`);
    return { verdict, source, name, reason, records };
  };
  if (counters.attempts >= maxAttempts) {
    const by = setter(maxAttempts, (one) => (one.max_attempts as number | undefined) ?? Infinity);
    return end('deny', 'attempt_limit', by?.id as string, ((by?.then ?? {}) as Mapping).message as string);
  }
  const asks: { source: string; id: string; message: string }[] = [];
  for (const [type, source] of [
    ['pre', 'yaml_precondition'],
    ['sandbox', 'yaml_sandbox'],
  ] as const) {
    for (const { record, effect } of evaluated(bundle, type, call, undefined)) {
      records.push(record);
      if (!record.fired || record.observed) continue;
      if (effect !== 'approve') return end('deny', source, record.id, record.message);
      asks.push({ source, id: record.id, message: record.message ?? '' });
    }
  }
  const ofTool = (one: Mapping): number =>
    Math.min(
      Infinity,
      ...Object.entries((one.max_calls_per_tool as Mapping | undefined) ?? {}).flatMap(([key, limit]) =>
        key === call.tool || fnmatch(key, call.tool) ? [limit as number] : [],
      ),
    );
  const leastPerTool = Math.min(Infinity, ...limits.map(ofTool));
  const spender = Number.isFinite(leastPerTool) ? setter(leastPerTool, ofTool) : undefined;
  for (const session of sessions) {
    const said = (session.then as Mapping).message as string;
    const own = session.limits as { max_tool_calls?: number; max_attempts?: number };
    const isOver =
      counters.executions >= (own.max_tool_calls ?? Infinity) ||
      counters.attempts >= (own.max_attempts ?? Infinity);
    const fired = isOver || (session === spender && counters.toolExecutions >= leastPerTool);
    records.push({
      id: session.id as string,
      type: 'session_contract',
      fired,
      policyError: false,
      observed: false,
      message: fired ? said : null,
    });
    if (isOver) return end('deny', 'yaml_session', session.id as string, said);
  }
  if (counters.toolExecutions >= leastPerTool)
    return end(
      'deny',
      'operation_limit',
      spender?.id as string,
      ((spender?.then ?? {}) as Mapping).message as string,
    );
  const [first] = asks;
  if (first) {
    const lines = asks.map(({ message }) => message).join('\n');
    return end('approve', first.source, first.id, lines.slice(0, 4000));
  }
  return end('allow', null, null, null);
}

/** A dry run with an output: everything that looks at the call, nothing stops. */
export function dry(bundle: Mapping, call: ReferenceCall, output: Value) {
  const entries = ['pre', 'sandbox', ...(output === undefined ? [] : ['post'])].flatMap((type) => [
    ...evaluated(bundle, type, call, type === 'post' ? output : undefined),
  ]);
  const enforced = entries.filter(({ record }) => record.fired && !record.observed);
  const before = enforced.filter(({ record }) => record.type !== 'postcondition');
  const denied = before.find(({ effect }) => effect !== 'approve');
  const deciding = denied ?? enforced[0];
  return {
    verdict: denied ? 'deny' : before.length > 0 ? 'approve' : deciding ? 'warn' : 'allow',
    deciding: deciding?.record.id ?? null,
    entries: entries.map(({ record, effect }) => ({ ...record, effect })),
  };
}

/** Every pattern that a condition looks for in the output. */
function patterns(when: Value): string[] {
  const node = when as Mapping;
  if ('not' in node) return patterns(node.not);
  const inner = (node.all ?? node.any) as Value[] | undefined;
  if (inner) return inner.flatMap(patterns);
  const tests = (node['output.text'] ?? {}) as { matches?: string; matches_any?: string[] };
  return Object.entries(tests).flatMap(([name, value]) =>
    name === 'matches' ? [value as string] : name === 'matches_any' ? (value as string[]) : [],
  );
}

/** The visible part of a result, and its warnings. */
export function after(bundle: Mapping, call: ReferenceCall, output: Value) {
  const { side_effect = 'irreversible' } = ((bundle.tools as Mapping)?.[call.tool] ?? {}) as {
    side_effect?: string;
  };
  const reads = side_effect === 'pure' || side_effect === 'read';
  const records: ReferenceRecord[] = [];
  const warnings: string[] = [];
  const asText = typeof output === 'string' ? output : (JSON.stringify(output ?? '') ?? '');
  let text = output === null || output === undefined ? '' : asText;
  let changed = 'no';
  let suppressed: string | null = null;
  for (const { contract, record, effect } of evaluated(bundle, 'post', call, output)) {
    records.push(record);
    if (!record.fired) continue;
    const declared = Object.hasOwn((bundle.tools as Mapping) ?? {}, call.tool);
    const kind = record.observed ? 'observed' : effect === 'warn' || (declared && !reads) ? 'warned' : effect;
    met(`post ${kind}`);
    if (kind === 'observed') warnings.push(`[observe] ${record.message}`);
    else if (kind === 'warned')
      warnings.push(
        `${record.message} ${reads ? 'Consider retrying.' : 'Tool already executed — assess before proceeding.'}`,
      );
    else {
      warnings.push(record.message ?? '');
      if (kind === 'deny') suppressed ??= `[OUTPUT SUPPRESSED] ${record.message}`;
      // A missing result has nothing to redact.
      else if (output !== null && output !== undefined) {
        changed = 'redacted';
        const named = patterns(contract.when);
        if (named.length === 0) text = '[REDACTED]';
        for (const pattern of named)
          text = text.replace(
            new RegExp(pattern.replace(/^\(\?i\)/, ''), pattern.startsWith('(?i)') ? 'gi' : 'g'),
            '[REDACTED]',
          );
      }
    }
  }
  return {
    records,
    warnings,
    changed: suppressed === null ? changed : 'suppressed',
    output: suppressed ?? (changed === 'redacted' ? text : output),
    passed: records.every((record) => !record.fired || record.observed),
  };
}
