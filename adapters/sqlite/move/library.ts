// Contracts, compositions, bundles, deployments and tool pins, as records of a move.

import type { Env } from '../../../src/shared/ids.ts';
import {
  compareTexts,
  type LibraryKind,
  type MovedDeployment,
  type MovedLibrary,
  type MovedPins,
  type MovedRecords,
} from '../../../src/shared/ports/moved-records.ts';
import { defaultPinMode } from '../../../src/tool/record.ts';
import { bundles } from '../bundles.ts';
import { compositions } from '../compositions.ts';
import { contracts } from '../contracts.ts';
import { type Database, givenText } from '../database.ts';
import { deployments } from '../deployments.ts';
import { keySuccessions, signingKeys } from '../signing.ts';
import { definitions, entryOf, serverOf, servers } from '../tool-table.ts';
import { pages } from './pages.ts';
import type { Readers } from './people.ts';

const idsIn = (db: Database, table: string): readonly string[] =>
  db.all(`SELECT DISTINCT tenant_id FROM ${table} ORDER BY tenant_id`).map(([id]) => String(id));

/** The place of each deployment among its tenant's, by row. */
const deploymentOrders = (db: Database): ReadonlyMap<number, number> =>
  new Map(
    db
      .all(
        'SELECT rowid, row_number() OVER (PARTITION BY tenant_id ORDER BY created_at, rowid) FROM deployments',
      )
      .map(([row, order]) => [Number(row), Number(order)]),
  );

function* movedDeployments(db: Database): Generator<readonly MovedDeployment[]> {
  const orders = deploymentOrders(db);
  const columns = `rowid, ${deployments.columns}`;
  for (const rows of pages(db, { table: 'deployments', key: ['rowid'], columns, size: 500 }))
    yield rows.map(([row, ...rest]) => ({ ...deployments.read(rest), order: orders.get(Number(row)) ?? 0 }));
}

function signingOf(
  db: Database,
  tenantId: string,
  orders: ReadonlyMap<number, number>,
): MovedRecords['signing'] | null {
  const key = db.get(`SELECT ${signingKeys.columns} FROM signing_keys WHERE tenant_id = ? AND active = 1`, [
    tenantId,
  ]);
  if (!key) return null;
  const current = db
    .all(`SELECT rowid, ${deployments.columns} FROM deployments WHERE tenant_id = ? AND is_current = 1`, [
      tenantId,
    ])
    .map(([row, ...rest]) => ({ ...deployments.read(rest), order: orders.get(Number(row)) ?? 0 }));
  const successions = db
    .all(`SELECT ${keySuccessions.columns} FROM key_successions WHERE tenant_id = ? ORDER BY id`, [tenantId])
    .map((row) => {
      const { tenantId: _tenantId, ...succession } = keySuccessions.read(row);
      return succession;
    });
  const sequences = db
    .all('SELECT env, bundle_name, last FROM deployment_sequences WHERE tenant_id = ?', [tenantId])
    .map(([env, name, last]) => ({
      env: String(env),
      bundleName: givenText(String(name)),
      last: Number(last),
    }));
  const removed = db
    .all(
      'SELECT name, max(version) FROM bundles WHERE tenant_id = ? AND deleted_at IS NOT NULL GROUP BY name',
      [tenantId],
    )
    .map(([name, version]) => ({ bundleName: givenText(String(name)), version: Number(version) }));
  const [count] = db.get('SELECT count(*) FROM deployments WHERE tenant_id = ?', [tenantId]) ?? [0];
  return {
    tenantId,
    active: signingKeys.read(key),
    successions,
    deployments: Number(count),
    current: current.sort((a, b) => a.order - b.order),
    sequences: sequences.sort(
      (a, b) => compareTexts(a.env, b.env) || compareTexts(a.bundleName, b.bundleName),
    ),
    removed: removed.sort((a, b) => compareTexts(a.bundleName, b.bundleName)),
  };
}

function* signing(db: Database): Generator<readonly MovedRecords['signing'][]> {
  const orders = deploymentOrders(db);
  for (const tenantId of idsIn(db, 'signing_keys')) {
    const record = signingOf(db, tenantId, orders);
    if (record) yield [record];
  }
}

function* movedBundles(db: Database): Generator<readonly MovedRecords['bundles'][]> {
  const columns = `(SELECT yaml FROM bundle_yaml WHERE bundle_id = bundles.id), deleted_at, ${bundles.columns}`;
  for (const rows of pages(db, { table: 'bundles', key: ['rowid'], columns, size: 16 }))
    yield rows.map(([yaml, deletedAt, ...rest]) => {
      const { signature: _signature, ...bundle } = bundles.read(rest);
      const bytes = yaml instanceof Uint8Array || Buffer.isBuffer(yaml) ? Buffer.from(yaml) : Buffer.alloc(0);
      return {
        ...bundle,
        yaml: bytes.toString('base64'),
        deletedAt: deletedAt === null ? null : Number(deletedAt),
      };
    });
}

/** Id of the oldest version, and a flag for the newest one. */
const lineage = `(SELECT id FROM contracts o WHERE o.tenant_id = contracts.tenant_id
  AND o.contract_id = contracts.contract_id ORDER BY version LIMIT 1)`;
const isLatest = `version = (SELECT max(version) FROM contracts n WHERE n.tenant_id = contracts.tenant_id
  AND n.contract_id = contracts.contract_id)`;

function* movedContracts(db: Database): Generator<readonly MovedRecords['contracts'][]> {
  const columns = `rowid, ${lineage}, ${isLatest}, ${contracts.columns}`;
  for (const rows of pages(db, { table: 'contracts', key: ['rowid'], columns, size: 64 }))
    yield rows.map(([order, first, latest, ...rest]) => ({
      ...contracts.read(rest),
      lineage: String(first),
      order: Number(order),
      isLatest: latest === 1,
    }));
}

function libraryOf(db: Database, tenantId: string): MovedLibrary {
  const entries = db
    .all(
      `SELECT contract_id, type, version, id, ${lineage} FROM contracts WHERE tenant_id = ? AND ${isLatest}`,
      [tenantId],
    )
    .map(([contractId, type, version, row, first]) => ({
      contractId: givenText(String(contractId)),
      type: String(type) as MovedLibrary['contracts'][number]['type'],
      version: Number(version),
      row: String(row),
      lineage: String(first),
    }));
  const rowOf = (contractId: string, version: number): string =>
    String(
      db.get('SELECT id FROM contracts WHERE tenant_id = ? AND contract_id = ? AND version = ?', [
        tenantId,
        contractId,
        version,
      ])?.[0] ?? '',
    );
  const stored = db
    .all(`SELECT rowid, ${compositions.columns} FROM compositions WHERE tenant_id = ?`, [tenantId])
    .map(([order, ...rest]) => {
      const composition = compositions.read(rest);
      const rows = composition.items.map(({ contractId, version }) => rowOf(contractId, version));
      return { ...composition, order: Number(order), rows };
    });
  return {
    tenantId,
    contracts: entries.sort((a, b) => compareTexts(a.contractId, b.contractId)),
    compositions: stored.sort((a, b) => compareTexts(a.name, b.name)),
  };
}

function* libraries(db: Database): Generator<readonly MovedLibrary[]> {
  for (const tenantId of new Set([...idsIn(db, 'contracts'), ...idsIn(db, 'compositions')]))
    yield [libraryOf(db, tenantId)];
}

type FlatDefinition = ReturnType<typeof definitions.read>;

const pinOf = ({ agents: _agents, definition: _definition, isAnnounced, ...flat }: FlatDefinition) => {
  const { lastSeenAt: _lastSeenAt, ...entry } = entryOf(flat);
  return { ...entry, isAnnounced };
};

function pinsOf(db: Database, tenantId: string, env: Env): MovedPins {
  const [mode, sequence] = db.get(
    'SELECT mode, sequence FROM tool_environments WHERE tenant_id = ? AND env = ?',
    [tenantId, env],
  ) ?? [defaultPinMode, 0];
  const serverRecords = db
    .all(`SELECT ${servers.columns} FROM tool_servers WHERE tenant_id = ? AND env = ?`, [tenantId, env])
    .map(serverOf);
  const entries = db
    .all(`SELECT ${definitions.columns} FROM tool_definitions WHERE tenant_id = ? AND env = ?`, [
      tenantId,
      env,
    ])
    .map((row) => pinOf(definitions.read(row)));
  return {
    tenantId,
    env,
    mode: mode as MovedPins['mode'],
    sequence: Number(sequence),
    servers: serverRecords.sort((a, b) => compareTexts(a.server, b.server)),
    entries: entries.sort((a, b) => compareTexts(a.id, b.id)),
  };
}

function* toolPins(db: Database): Generator<readonly MovedPins[]> {
  const places = db.all(
    `SELECT tenant_id, env FROM tool_environments UNION SELECT tenant_id, env FROM tool_servers
       UNION SELECT tenant_id, env FROM tool_definitions ORDER BY 1, 2`,
  );
  for (const [tenantId, env] of places) yield [pinsOf(db, String(tenantId), String(env) as Env)];
}

function* toolDefinitions(db: Database): Generator<readonly MovedRecords['toolDefinitions'][]> {
  for (const rows of pages(db, {
    table: 'tool_definitions',
    key: ['rowid'],
    columns: definitions.columns,
    size: 64,
  }))
    yield rows.map((row) => {
      const { id, tenantId, env, server, tool, lastSeenAt, agents, definition, decision } =
        definitions.read(row);
      return {
        id,
        tenantId,
        env,
        server,
        tool,
        lastSeenAt,
        agents: JSON.stringify(agents),
        definition,
        isRuled: decision !== null,
      };
    });
}

export const libraryReaders: Readers<LibraryKind> = {
  signing,
  deployments: movedDeployments,
  bundles: movedBundles,
  contracts: movedContracts,
  libraries,
  toolPins,
  toolDefinitions,
};
