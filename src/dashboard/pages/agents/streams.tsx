// The open streams of one agent: start, transport, bundle, key and node of each.
import { type JSX, useMemo } from 'react';
import type { Reply } from '../../lib/api.ts';
import { missingRole } from '../../lib/may.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useCall } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { envColumn, nameColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Stream = Reply<'listAgentStreams'>['streams'][number];

/** Polling interval, in milliseconds: no frame announces a second stream of a connected agent. */
const lookMs = 15_000;
const limit = 50;

const transports = { sse: 'SSE', websocket: 'WebSocket' } as const;
const apis = { console: '/api/v1', hosted: '/v1' } as const;

const cameBy = ({ transport, api }: Stream): string => `${transports[transport]}, ${apis[api]}`;
const followsOf = ({ bundle_name: name, pinned }: Stream): string =>
  name === null ? 'everything' : `${name}${pinned ? ' (requested)' : ''}`;

export function AgentStreams({ id }: { readonly id: string }): JSX.Element {
  const me = useSignedIn();
  const agentStreamsQuery = useCall(
    'listAgentStreams',
    { params: { agent_id: id }, query: { limit } },
    { refetchMs: lookMs },
  );
  // The hub lists keys for operators.
  const canSeeKeys = missingRole(me.roles, 'operator') === null;
  const keys = useCall('listKeys', { query: { limit: 1000 } }, { enabled: canSeeKeys });
  const columns = useMemo((): readonly Column<Stream>[] => {
    const keyOf = ({ key_id: key }: Stream): string => {
      const apiKey = keys.data?.find((one) => one.id === key);
      return apiKey ? (apiKey.label ?? apiKey.prefix) : key;
    };
    return [
      timeColumn('since', 'Since', (stream) => stream.connected_at, 1),
      { key: 'over', label: 'Transport', width: 1.9, sort: cameBy, cell: cameBy },
      envColumn('env', 'Environment', (stream) => stream.env, 1.4),
      nameColumn('follows', 'Follows', followsOf, 1.4),
      proseColumn('key', 'Key', keyOf),
      ...(me.is_admin ? [nameColumn<Stream>('node', 'Node', (stream) => stream.node)] : []),
    ];
  }, [keys.data, me.is_admin]);
  return (
    <QuerySection
      title="Open streams"
      label
      query={agentStreamsQuery}
      rows={2}
      none={({ streams }) =>
        streams.length === 0 && 'No open streams. Streams appear here when the agent connects.'
      }
    >
      {({ streams, total }) => (
        <Table
          name="streams of an agent"
          sortAs="streams_sort"
          rows={streams}
          columns={columns}
          keyOf={(stream) => stream.id}
          bar={
            total > streams.length
              ? `Newest ${count(streams.length)} of ${counted(total, 'stream')}`
              : counted(total, 'stream')
          }
        />
      )}
    </QuerySection>
  );
}
