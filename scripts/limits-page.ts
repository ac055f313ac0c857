// The text of docs/limits.md: a row for each bound and each outage in the tables of src/admission.

import {
  type AdmissionClass,
  type AdmittedPer,
  type Bound,
  usualRetryAfter,
} from '../src/admission/admission-class.ts';
import { requestClasses, socketClasses } from '../src/admission/edge-classes.ts';
import { type Outage, outageTable } from '../src/admission/outages.ts';
import { queueClasses, workClasses } from '../src/admission/work-classes.ts';
import { statusOf } from '../src/http/problem.ts';

const groups: readonly (readonly [title: string, classes: { readonly [name: string]: AdmissionClass }])[] = [
  ['Requests and answers', requestClasses],
  ['Streams and WebSockets', socketClasses],
  ['Single kinds of work', workClasses],
  ['Actors and stores', queueClasses],
];

const perNames: { readonly [P in AdmittedPer]: string } = {
  node: 'node',
  tenant: 'tenant',
  user: 'user',
  agent: 'agent of a key',
  person: 'person',
  credential: 'credential',
  caller: 'caller',
  network: 'network',
  key: 'API key',
  socket: 'socket',
  stream: 'stream',
  environment: 'environment',
  actor: 'actor',
  shard: 'shard',
  document: 'document',
  channel: 'channel',
  method: 'kind of call',
};

const number = (value: number): string => value.toLocaleString('en-US');

function bytesText(bytes: number): string {
  if (bytes % 1024 ** 2 === 0) return `${number(bytes / 1024 ** 2)} MiB`;
  return bytes % 1024 === 0 ? `${number(bytes / 1024)} KiB` : `${number(bytes)} bytes`;
}

const secondsText = (ms: number): string => `${number(ms / 1000)} s`;

/** With what comes back in time. */
const withRate = (text: string, perSecond: number | undefined, unit: (value: number) => string): string =>
  perSecond === undefined ? text : `${text}, then ${unit(perSecond)} a second`;

function waitingText({ waiting, atOnce, perSecond }: Bound): string {
  if (waiting === undefined) return atOnce === undefined || perSecond !== undefined ? '' : 'none';
  return Number.isFinite(waiting) ? number(waiting) : 'all';
}

function refusalText(refusal: AdmissionClass['refusal']): readonly [error: string, retryAfter: string] {
  if (!refusal) return ['', ''];
  const { code, retryAfter, reason } = refusal;
  const error = `${statusOf[code]} \`${code}\`${reason === undefined ? '' : ` (\`${reason}\`)`}`;
  const seconds = retryAfter ?? (statusOf[code] === 503 ? usualRetryAfter : null);
  return [error, seconds === null ? '' : `${seconds} s`];
}

function rowsOf({ title, bounds, ms, freeBytes, refusal }: AdmissionClass): readonly string[] {
  const free = freeBytes === undefined ? '' : `; not counted up to ${bytesText(freeBytes)}`;
  return bounds.map((bound, i) => {
    const { per, atOnce, bytes, perSecond } = bound;
    const cells = [
      i === 0 ? `${title}${free}` : '',
      perNames[per],
      atOnce === undefined ? '' : withRate(number(atOnce), perSecond, number),
      waitingText(bound),
      ms === undefined ? '' : secondsText(ms),
      bytes === undefined ? '' : withRate(bytesText(bytes), perSecond, bytesText),
      ...refusalText(bound.refusal ?? refusal),
    ];
    return `| ${cells.join(' | ')} |`;
  });
}

function outageRow({ title, tries, refusal }: Outage): string {
  return `| ${[title, tries === undefined ? '' : String(tries), ...refusalText(refusal)].join(' | ')} |`;
}

export function limitsPage(): string {
  const tables = groups.map(
    ([title, classes]) => `## ${title}

| What | For each | At once | May wait | Time | Bytes | Above it | Retry-After |
|---|---|---|---|---|---|---|---|
${Object.values(classes).flatMap(rowsOf).join('\n')}
`,
  );
  return `# Limits of a node

For operators who see a 429 or 503 and want to know which limit it was. After this page you know how much of each kind
of work a node does at once, how much may wait, and the error above that. \`npm run api-surface\` makes this page from
the tables in \`src/admission\`.

Each bound in a group must have room. Work above *At once* waits in order of arrival, for at most the time, and is then
refused; where nothing may wait, it is refused at once. A client that leaves gives its place back. A *network* is an
IPv4 address or the /64 of an IPv6 address. A *caller* is an API key with its agent id and network, a user, or, without
credentials, a network. [Security](security.md#limits) lists the limits over time and of stored data.

${tables.join('\n')}
## Refusals without a limit

A service is away, a state moves between nodes, a node ends, or others change the same record. *Tries* are the attempts
that the hub makes itself before it refuses.

| What | Tries | Error | Retry-After |
|---|---|---|---|
${Object.values<Outage>(outageTable).map(outageRow).join('\n')}
`;
}
