// The page of one agent.
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { AgentDetail } from './detail.tsx';

export default function AgentPage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <ThingPage kind="Agent" name={id} back={{ to: '/fleet', view: 'agents', label: 'View all agents' }}>
      <AgentDetail key={id} id={id} />
    </ThingPage>
  );
}
