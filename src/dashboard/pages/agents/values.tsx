// The values that the sessions of one agent keep in the hub, one session at a time.
import { type JSX, useRef, useState } from 'react';
import { useEnv, useFilters } from '../../lib/search.ts';
import { Choice } from '../../ui/choice.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { SessionValues } from '../runs/values.tsx';
import { isCutOff, noRuns, RunsInRange, useAgentRuns } from './history.tsx';

export function AgentValues({ id }: { readonly id: string }): JSX.Element {
  const [{ from, to }] = useFilters();
  // Another range or environment begins with its own session.
  return <ValuesInRange key={JSON.stringify([from, to, useEnv()])} id={id} />;
}

function ValuesInRange({ id }: { readonly id: string }): JSX.Element {
  const { runsQuery, runs } = useAgentRuns(id);
  const [choice, setChoice] = useState<string | null>(null);
  const sessions = runs.map(({ session_id: session }) => session);
  // The session stays when the list moves on.
  const first = useRef<string | null>(null);
  first.current ??= sessions[0] ?? null;
  const session = choice ?? first.current;
  const options = session === null || sessions.includes(session) ? sessions : [session, ...sessions];
  return (
    <QuerySection
      title="Values"
      query={runsQuery}
      rows={2}
      none={({ total }) => session === null && !isCutOff(total) && noRuns}
    >
      {({ total }) =>
        session === null ? (
          <RunsInRange id={id} inRange={0} total={total} />
        ) : (
          <>
            <Choice label="Session" value={session} options={options} onValue={setChoice} />
            <SessionValues key={session} agent={id} session={session} />
          </>
        )
      }
    </QuerySection>
  );
}
