// Audit: who did what, newest first, out of the hub's hash-chained log; the chain as a download with its signed head.

import { type JSX, useState } from 'react';
import type { z } from 'zod';
import type { auditEntry } from '../../../api/hosted/audit.ts';
import { auditSubjects } from '../../../domain/audit.ts';
import { hostedText, useHosted, useHostedLive, useHostedPages } from '../../lib/hosted.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useFilters } from '../../lib/search.ts';
import { count, plainJson } from '../../lib/text.ts';
import { download } from '../../ui/download.ts';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Empty, Failed, Name, PageHead, Select, Skeleton, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Entry = z.output<typeof auditEntry>;
interface Entries {
  readonly entries: readonly Entry[];
  readonly next_cursor: string | null;
}

const columns: readonly Column<Entry>[] = [
  {
    key: 'what',
    label: 'What',
    width: 3,
    sort: (one) => one.summary,
    cell: (one) => <Name text={one.summary} />,
  },
  {
    key: 'action',
    label: 'Action',
    width: 1.6,
    sort: (one) => one.action_type,
    cell: (one) => <Name text={one.action_type} />,
  },
  {
    key: 'who',
    label: 'Who',
    width: 1.8,
    sort: (one) => one.actor.display,
    cell: (one) => <Name text={one.actor.display} />,
  },
  {
    key: 'as',
    label: 'As',
    width: 0.9,
    sort: (one) => one.actor.type,
    cell: (one) => <span className="tag">{one.actor.type}</span>,
  },
  {
    key: 'at',
    label: 'When',
    width: 1.1,
    sort: (one) => Date.parse(one.occurred_at),
    text: (one) => one.occurred_at,
    cell: (one) => <Time at={one.occurred_at} />,
  },
];

export default function Audit(): JSX.Element {
  const me = useSignedIn();
  const [{ subject = '', id }, change] = useFilters();
  const found = useHostedPages<Entries>('/v1/audit', {
    limit: 200,
    ...(subject ? { subject_type: subject } : { scope: 'all' }),
  });
  useHostedLive('/v1/audit', [
    'approval_decided',
    'approval_timeout',
    'api_key_created',
    'api_key_revoked',
    'bundle_deployed',
    'contract_created',
    'contract_updated',
  ]);
  const rows = (found.data?.pages ?? []).flatMap(({ entries }) => entries);
  const chosen = rows.find((one) => one.id === id);
  return (
    <div className="page">
      <PageHead title="Audit" says="Every change, and who made it. Each entry is chained to the one before.">
        {me.is_admin && <Export />}
      </PageHead>
      <Head />
      <div className="filter-bar">
        <Select
          compact
          label="Subject"
          value={subject}
          options={[['', 'Everything'], ...auditSubjects.map((one) => [one, one.replace('_', ' ')] as const)]}
          onValue={(next) => change({ subject: next, id: undefined })}
        />
      </div>
      {found.error && rows.length === 0 ? (
        <Failed error={found.error} onRetry={() => void found.refetch()} />
      ) : found.data === undefined ? (
        <Skeleton rows={10} />
      ) : rows.length === 0 ? (
        <Empty title="Nothing was recorded yet" />
      ) : (
        <Table
          name="audit entries"
          rows={rows}
          columns={columns}
          keyOf={(one) => one.id}
          chosen={id}
          onOpen={(one) => change({ id: one.id }, true)}
          onEnd={() => {
            if (found.hasNextPage && !found.isFetchingNextPage) void found.fetchNextPage();
          }}
          bar={<span className="muted">{count(rows.length)} newest shown; of the last 30 days</span>}
        />
      )}
      <Dialog
        title="Audit entry"
        shape="panel"
        open={chosen !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {chosen && (
          <>
            <p>
              <Data text={chosen.summary} mono={false} max={1_000} />
            </p>
            <p className="muted">
              <Data text={chosen.actor.display} mono={false} max={120} /> as {chosen.actor.type},{' '}
              <Time at={chosen.occurred_at} />
            </p>
            <pre className="code">
              <Data text={plainJson(chosen)} max={20_000} />
            </pre>
          </>
        )}
      </Dialog>
    </div>
  );
}

interface Signed {
  readonly head: {
    readonly seq: number;
    readonly digest: string;
    readonly signed_at: string;
    readonly key_id: string;
  };
}

function Head(): JSX.Element | null {
  const found = useHosted<Signed>('/v1/audit/head');
  if (!found.data) return null;
  const { seq, digest, signed_at: at } = found.data.head;
  return (
    <p className="muted">
      The head over {count(seq)} entries was signed <Time at={at} />: <Data text={digest} max={100} />
    </p>
  );
}

function Export(): JSX.Element {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      download('audit.ndjson', 'application/x-ndjson', await hostedText('/v1/audit/export'));
    } catch (error) {
      say((error as Error).message, 'deny');
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button icon="download" busy={busy} onClick={() => void run()}>
      Chain as NDJSON
    </Button>
  );
}
