// The matrix of the fleet: documents by environment, with the deployed version and what the connected agents run. A
// press on a version lists its agents below.
import './bars.css';
import './matrix.css';
import { type JSX, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { readOn, useCall, usePageRows, usePages } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv, useFilters } from '../../lib/search.ts';
import { count, counted, duration, loadedText, maxRows } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { NameLink } from '../../ui/names.tsx';
import { Button, Data, Empty, Env, TimeWords } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';
import { type Agent, agentColumns } from './columns.tsx';

type Matrix = Reply<'fleetMatrix'>;
type Cell = Matrix['bundles'][number]['cells'][number];
type Version = Cell['versions'][number];

const columnsOf = (env: Environment | undefined): readonly Environment[] =>
  env ? [env] : [...envs].reverse();

export function FleetMatrix(): JSX.Element {
  const env = useEnv();
  const query = env ? { env } : {};
  const matrix = useCall('fleetMatrix', { query });
  const columns = columnsOf(env);
  return (
    <>
      <QueryResult
        query={matrix}
        rows={6}
        none={(first) =>
          first.bundles.length === 0 && (
            <Empty
              title="No documents yet"
              text="Deployed documents and the versions that connected agents run appear here."
            />
          )
        }
      >
        {(first) => (
          <>
            <p className="muted">
              {counted(first.bundles.length, 'document')}
              {first.next_cursor && ' or more'}
              {first.unassigned > 0 && `, ${counted(first.unassigned, 'connected agent')} without a document`}
            </p>
            <div className="matrix-box card">
              {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: cells contain buttons */}
              <table role="grid" aria-label="Matrix" className="matrix">
                <thead>
                  <tr>
                    <th scope="col">Document</th>
                    {columns.map((name) => (
                      <th scope="col" key={name}>
                        <Env name={name} />
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  <Rows page={first} query={query} columns={columns} />
                </tbody>
              </table>
            </div>
          </>
        )}
      </QueryResult>
      <RunningAgents matrix={matrix.data} />
    </>
  );
}

interface PageProps {
  /** The chosen environment. */
  readonly query: { readonly env?: Environment };
  readonly columns: readonly Environment[];
}

function Rows({ page, query, columns }: PageProps & { readonly page: Matrix }): JSX.Element {
  const [isMore, setMore] = useState(false);
  return (
    <>
      {page.bundles.map(({ name, cells }) => (
        <tr key={name}>
          <th scope="row">
            <NameLink link={linkTo.bundle(name)} text={name} />
          </th>
          {columns.map((env) => (
            <td key={env} data-env={env}>
              <CellParts name={name} cell={cells.find((one) => one.env === env)} />
            </td>
          ))}
        </tr>
      ))}
      {page.next_cursor !== null &&
        (isMore ? (
          <NextRows cursor={page.next_cursor} query={query} columns={columns} />
        ) : (
          <tr>
            <td>
              <Button onClick={() => setMore(true)}>Show more documents</Button>
            </td>
          </tr>
        ))}
    </>
  );
}

function NextRows({ cursor, query, columns }: PageProps & { readonly cursor: string }): JSX.Element {
  const matrix = useCall('fleetMatrix', { query: { ...query, cursor } });
  if (matrix.data) return <Rows page={matrix.data} query={query} columns={columns} />;
  return (
    <tr>
      <td>
        <QueryResult query={matrix}>{() => null}</QueryResult>
      </td>
    </tr>
  );
}

/** `current` runs the deployed version, `unknown` reported none. */
const stateOf = ({ deployment }: Cell, { version, policy_version: hash }: Version): string =>
  hash === null ? 'unknown' : version !== null && version === deployment?.version ? 'current' : 'behind';

const nameOf = ({ version, policy_version: hash }: Version): string =>
  version === null ? (hash === null ? '?' : 'other') : `v${version}`;

/** Key of a version in the address. */
const keyOf = ({ policy_version: hash }: Version): string => hash ?? 'unknown';

function CellParts({ name, cell }: { readonly name: string; readonly cell: Cell | undefined }): JSX.Element {
  const [{ bundle, in: env, runs }, change] = useFilters();
  const now = useNow(60_000);
  if (!cell || (cell.deployment === null && cell.connected === 0)) return <span className="muted">–</span>;
  const starts = cell.versions.flatMap(({ oldest_since: since }) => (since ? [Date.parse(since)] : []));
  return (
    <span className="matrix-cell">
      <strong>{cell.deployment ? `v${cell.deployment.version}` : 'not deployed'}</strong>
      {cell.connected === 0 ? (
        <span className="muted">no agents</span>
      ) : (
        <>
          <span className="matrix-bar" aria-hidden="true">
            {cell.versions.map((one) => (
              <span
                key={keyOf(one)}
                className={`matrix-${stateOf(cell, one)}`}
                style={{ flexGrow: one.agents }}
              />
            ))}
          </span>
          {cell.versions.map((one) => {
            const isOpen = bundle === name && env === cell.env && runs === keyOf(one);
            return (
              <button
                key={keyOf(one)}
                type="button"
                className={`link matrix-version ${stateOf(cell, one) === 'behind' ? 'tone-drift' : ''}`}
                aria-expanded={isOpen}
                title={`Show the agents of ${name.slice(0, 80)} in ${cell.env} that run ${nameOf(one)}`}
                onClick={() =>
                  change(
                    isOpen
                      ? { bundle: undefined, in: undefined, runs: undefined }
                      : { bundle: name, in: cell.env, runs: keyOf(one) },
                  )
                }
              >
                {nameOf(one)} {count(one.agents)}
                <span className="heard"> of {counted(cell.connected, 'agent')}</span>
              </button>
            );
          })}
          {starts.length > 0 && (
            <TimeWords at={new Date(Math.min(...starts)).toISOString()} className="tone-drift">
              oldest {duration(now - Math.min(...starts))}
            </TimeWords>
          )}
        </>
      )}
    </span>
  );
}

const keys = ['agent', 'wanted', 'version', 'since', 'calls', 'seen'];
const columns = agentColumns.filter(({ key }) => keys.includes(key));

const cutNote = '. The search reached its time limit, so agents may be missing';

/**
 * The connected agents that run the version in the address, those that are out of date for longest first. Only a list
 * by `drift_since` contains agents that are out of date alone, so an empty one means that the version is current.
 */
function RunningAgents({ matrix }: { readonly matrix: Matrix | undefined }): JSX.Element | null {
  const [{ bundle, in: env, runs }] = useFilters();
  const isOpen = bundle !== undefined && env !== undefined && runs !== undefined;
  // Documents behind *Show more documents* have no cell here.
  const cell = matrix?.bundles.find(({ name }) => name === bundle)?.cells.find((one) => one.env === env);
  const version = cell?.versions.find((one) => keyOf(one) === runs);
  const isOrdered = runs !== 'unknown' && !(cell && version && stateOf(cell, version) === 'current');
  const query = {
    ...{ bundle, env, connected: 'true', limit: 500 },
    ...(runs === 'unknown' ? { status: 'unknown' } : { policy_version: runs }),
  };
  const enabled = isOpen && !!matrix;
  const input = (sort: object) => ({ query: { ...query, ...sort } }) as Input<'listAgents'>;
  const behind = usePages('listAgents', input({ sort: 'drift_since' }), { enabled: enabled && isOrdered });
  const hasNone = behind.data?.pages.every(({ reply }) => reply.length === 0) && !behind.hasNextPage;
  const isPlain = !isOrdered || hasNone === true;
  const all = usePages('listAgents', input({}), { enabled: enabled && isPlain });
  const agents = isPlain ? all : behind;
  const rows = usePageRows(agents, ({ reply }) => reply);
  const isCut = agents.data?.pages.some(({ isComplete }) => !isComplete) ?? false;
  if (!isOpen) return null;
  const listed = rows.find(({ version: number }) => number !== null)?.version;
  const versionName = version ? nameOf(version) : listed ? `v${listed}` : 'this version';
  return (
    <section className="form" aria-label="Agents on this version">
      <h2>
        <Data text={bundle} max={80} /> in <Env name={env} />, {versionName}
      </h2>
      <QueryResult query={agents} rows={4}>
        {() => (
          <Table<Agent>
            name="agents on a version"
            grid="Agents"
            row="agent"
            sortAs="agents_sort"
            rows={rows}
            onEnd={() => {
              if (rows.length < maxRows) readOn(agents);
            }}
            bar={`${loadedText(rows.length, 'agent', agents.hasNextPage)}${isCut ? cutNote : ''}`}
            columns={columns}
            keyOf={(row) => row.agent_id}
            linkOf={(row) => linkTo.agent(row.agent_id)}
          />
        )}
      </QueryResult>
    </section>
  );
}
