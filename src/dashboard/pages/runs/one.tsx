// The page of one run.
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { RunDetail } from './detail.tsx';

export default function RunPage(): JSX.Element {
  const { agent, session } = useIds('agent', 'session');
  return (
    <ThingPage kind="Run" name={session} back={{ to: '/runs', label: 'View all runs' }}>
      <RunDetail key={`${agent} ${session}`} agent={agent} session={session} />
    </ThingPage>
  );
}
