// The values that the sessions of one agent keep in the hub, one session at a time.
import { type JSX, useRef, useState } from 'react';
import { readOn } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { Choice } from '../../ui/choice.tsx';
import { Button } from '../../ui/parts.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { SessionValues } from '../runs/values.tsx';
import { useAgentRuns } from './history.tsx';

export function AgentValues({ id }: { readonly id: string }): JSX.Element {
  const [{ from, to }] = useFilters();
  // Another range or environment begins with its own session.
  return <ValuesInRange key={JSON.stringify([from, to, useEnv()])} id={id} />;
}

function ValuesInRange({ id }: { readonly id: string }): JSX.Element {
  const { query, rows, none, further } = useAgentRuns(id);
  const [choice, setChoice] = useState<string | null>(null);
  const sessions = rows.map(({ session_id: session }) => session);
  // The session stays when the list moves on.
  const first = useRef<string | null>(null);
  first.current ??= sessions[0] ?? null;
  const session = choice ?? first.current;
  const options = session === null || sessions.includes(session) ? sessions : [session, ...sessions];
  return (
    <QuerySection title="Values" query={query} rows={2} none={() => session === null && none}>
      {() => (
        <>
          <Choice label="Session" value={session ?? ''} options={options} onValue={setChoice} />
          {further ?? (
            <Button
              cannot={query.hasNextPage ? null : 'All sessions of this range are listed.'}
              onClick={() => readOn(query)}
              busy={query.isFetchingNextPage}
            >
              Load earlier sessions
            </Button>
          )}
          {session !== null && <SessionValues key={session} agent={id} session={session} />}
        </>
      )}
    </QuerySection>
  );
}
