// Decided approvals: who, when, through which channel, why.
import { type JSX, useState } from 'react';
import { useCall } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { visible } from '../../lib/text.ts';
import { Answer, Button, Data, Empty, Env, Name, Select, Time, Verdict } from '../../ui/parts.tsx';

const pageSize = 100;
const states = [
  ['', 'Any outcome'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['timeout', 'Timed out'],
] as const;

export function History(): JSX.Element {
  const env = useEnv();
  const [{ status = '' }, change] = useFilters();
  const [offset, setOffset] = useState(0);
  const wanted = states.find(([key]) => key !== '' && key === status)?.[0] as
    | 'approved'
    | 'denied'
    | 'timeout'
    | undefined;
  const found = useCall(
    'listApprovals',
    { query: { limit: pageSize, offset, ...(wanted ? { status: wanted } : {}), ...(env ? { env } : {}) } },
    { keep: true },
  );
  return (
    <div className="card">
      <div className="card-head">
        <Select
          compact
          label="Outcome"
          value={status}
          options={states}
          onValue={(next) => {
            setOffset(0);
            change({ status: next });
          }}
        />
        <span className="pager">
          <Button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pageSize))}>
            Newer
          </Button>
          <Button
            disabled={(found.data?.length ?? 0) < pageSize}
            onClick={() => setOffset(offset + pageSize)}
          >
            Older
          </Button>
        </span>
      </div>
      <Answer of={found}>
        {(list) => {
          const rows = list.filter((one) => one.status !== 'pending');
          if (rows.length === 0) return <Empty title="Nothing was decided yet" />;
          return (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
            <section className="scroll-x" aria-label="Decided approvals" tabIndex={0}>
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">Outcome</th>
                    <th scope="col">Tool</th>
                    <th scope="col">Agent</th>
                    <th scope="col">Environment</th>
                    <th scope="col">By</th>
                    <th scope="col">Through</th>
                    <th scope="col">Reason</th>
                    <th scope="col">When</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((one) => (
                    <tr key={one.id}>
                      <td>
                        <Verdict of={one.status} />
                      </td>
                      <td>
                        <button
                          type="button"
                          className="cell-link"
                          onClick={() => change({ view: undefined, id: one.id })}
                        >
                          <Name text={one.tool_name} />
                        </button>
                      </td>
                      <td>
                        <Name text={one.agent_id} />
                      </td>
                      <td>
                        <Env of={one.env} />
                      </td>
                      <td>
                        {one.decided_by ? (
                          <Data text={one.decided_by} max={60} mono={false} />
                        ) : (
                          <span className="muted">nobody</span>
                        )}
                      </td>
                      <td>{one.decided_via ? visible(one.decided_via) : <span className="muted">–</span>}</td>
                      <td>
                        {typeof one.decision_reason === 'string' ? (
                          <Data text={one.decision_reason} max={80} mono={false} />
                        ) : (
                          <span className="muted">–</span>
                        )}
                      </td>
                      <td>
                        <Time at={one.decided_at ?? one.created_at} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          );
        }}
      </Answer>
    </div>
  );
}
