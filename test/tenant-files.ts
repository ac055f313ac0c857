// A tenant carried from one store to another through a file, as the hub does it; and what both contain of it.
import { createSecrets } from '../adapters/node/secrets.ts';
import { tenantFileFormat } from '../adapters/node/tenant-file.ts';
import { AuditLog } from '../src/audit/use-cases.ts';
import type { Control } from '../src/shared/frame.ts';
import { canonicalJson } from '../src/shared/json/canonical.ts';
import type { Store } from '../src/shared/ports/store.ts';
import { type TenantFileKind, tenantFileKinds } from '../src/tenant/rules/file-kinds.ts';
import { createTenantExports } from '../src/tenant/use-cases/tenant-export.ts';
import { TenantImports } from '../src/tenant/use-cases/tenant-import.ts';
import { createTenants } from '../src/tenant/use-cases/tenants.ts';
import { ManualClock } from './clock.ts';
import { aBatch } from './conformance/events.ts';
import { ofSession } from './conformance/runs.ts';
import { silentLog } from './log.ts';

export const passphrase = 'a passphrase of the tests';

/** The fixtures of the stores were sealed by nobody: here a sealed text is the text itself. */
const secrets = {
  ...createSecrets('a master secret of tests, 32 bytes', { cost: 16 }),
  seal: (_purpose: string, plain: Uint8Array) => Buffer.from(plain).toString(),
  unseal: (_purpose: string, sealed: string) => Buffer.from(sealed),
};

export type CarriedStore = Omit<Store, 'values'>;

/** An operator's acts at one hub. */
export function operatorOf(carried: CarriedStore, now: number, clock = new ManualClock(now)) {
  const store = carried as Store;
  const controls: Control[] = [];
  const broadcast = {
    control: async (message: Control) => void controls.push(message),
    follow: () => () => {},
  } as never;
  // A derivation takes a tenth of a second on purpose.
  const fileFormat = {
    ...tenantFileFormat,
    derive: async (words: string, salt: string) =>
      Buffer.from(secrets.sha256(`${words} ${salt}`), 'hex').toString('base64'),
  };
  const ports = { store, secrets, clock, log: silentLog, broadcast, fileFormat };
  const auditLog = new AuditLog({ ...ports, settings: { auditRetentionDays: 0 } });
  return {
    store,
    clock,
    controls,
    exports: createTenantExports({ ...ports, auditLog, settings: { version: '0.1.0' } }),
    imports: new TenantImports(ports),
    tenants: createTenants({ ...ports, jobs: { add: async () => {} } as never }),
  };
}

export type Operator = ReturnType<typeof operatorOf>;

export async function exportOf({ exports }: Operator, tenantId: string): Promise<readonly Uint8Array[]> {
  const members: Uint8Array[] = [];
  for await (const member of await exports.start(tenantId, passphrase)) members.push(member);
  return members;
}

export async function importInto({ imports }: Operator, members: readonly Uint8Array[]) {
  const [head, ...parts] = members;
  const { id } = await imports.begin(head ?? new Uint8Array(), passphrase);
  for (const [i, part] of parts.entries()) await imports.createPart(id, i + 1, part);
  return imports.commit(id);
}

/**
 * The store whose writes of imports end after so many of them, as a kill would.
 * @param before true: the last write is not made
 */
export function dyingAfter(store: CarriedStore, writes: number, before: boolean): CarriedStore {
  let left = writes;
  const dying = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(of, name) {
        const method = Reflect.get(of, name) as (...args: readonly unknown[]) => Promise<unknown>;
        return async (...args: readonly unknown[]) => {
          const isLast = left-- <= 0;
          if (isLast && before) throw new Error('killed');
          const answer = await method(...args);
          if (isLast) throw new Error('killed');
          return answer;
        };
      },
    });
  return { ...store, tenantFiles: dying(store.tenantFiles), events: dying(store.events) };
}

/** Adds a run to a tenant, and purges its first event. */
export async function trimRun({ events }: CarriedStore, tenantId: string, now: number): Promise<void> {
  const at = (receivedAt: number, callId: string) =>
    events.ingest(
      aBatch(tenantId, [ofSession('trimmed', { callId, timestamp: receivedAt })], { receivedAt }),
    );
  await at(now - 90_000_000, 'trimmed-1');
  await at(now, 'trimmed-2');
  await events.removeBefore(tenantId, now - 80_000_000, 100);
}

/** Fields that another hub gives anew. */
const anew = new Set(['order', 'unannouncedAt', 'outcomeIds', 'seq']);

const plain = (kind: TenantFileKind, record: object): object => {
  const isEvent = kind === 'events';
  const fields = Object.entries(record).filter(
    ([name, value]) =>
      value !== undefined && !(anew.has(name) && !kind.startsWith('audit')) && !(isEvent && name === 'id'),
  );
  const { status } = record as { readonly status?: string };
  if (kind === 'deliveries' && status === 'waiting')
    return Object.fromEntries([...fields, ['status', 'dead'], ['nextAt', null]]);
  return Object.fromEntries(fields);
};

/** Records of each kind as canonical JSON, in the order of their texts; the audit chain up to a link. */
export async function contentOf(store: CarriedStore, tenantId: string, lastLink = Number.POSITIVE_INFINITY) {
  const reading = await store.readTenant(tenantId);
  const content: { [kind: string]: readonly string[] } = {};
  for (const kind of tenantFileKinds) {
    const texts: string[] = [];
    for await (const page of reading.records(kind))
      for (const record of page as readonly object[]) {
        const { seq = 0 } = record as { readonly seq?: number };
        if (kind.startsWith('audit') && seq > lastLink) continue;
        const whole = Object.fromEntries(
          Object.entries(record).map(([name, value]) => [
            name,
            ['compositions', 'current'].includes(name) ? value.map((one: object) => plain(kind, one)) : value,
          ]),
        );
        texts.push(canonicalJson(JSON.parse(JSON.stringify(plain(kind, whole)))));
      }
    content[kind] = texts.sort();
  }
  await reading.close();
  return content;
}
