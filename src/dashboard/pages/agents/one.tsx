// The page of one agent: its state, tools, runs, values and changes as tabs, which the address contains.

import { useNavigate, useParams } from '@tanstack/react-router';
import type { ComponentType, JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { Tabbed } from '../../ui/list.tsx';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { AgentCoverage } from './coverage.tsx';
import { AgentDetail } from './detail.tsx';
import { AgentHistory, AgentRuns } from './history.tsx';
import { AgentValues } from './values.tsx';

type Tab = readonly [key: string, label: string, Content: ComponentType<{ readonly id: string }>];

const first: Tab = ['state', 'State', AgentDetail];
const tabs: readonly Tab[] = [
  first,
  ['tools', 'Tools', AgentCoverage],
  ['runs', 'Runs', AgentRuns],
  ['values', 'Values', AgentValues],
  ['changes', 'Changes', AgentHistory],
];

export default function AgentPage(): JSX.Element {
  const { id } = useIds('id');
  const { tab } = useParams({ strict: false }) as { readonly tab?: string };
  const navigate = useNavigate();
  const [key, , Content] = tabs.find(([name]) => name === tab) ?? first;
  return (
    <ThingPage kind="Agent" name={id} back={{ to: '/fleet', view: 'agents', label: 'View all agents' }}>
      <Tabbed
        label="Views of the agent"
        views={tabs}
        current={key}
        onView={(next) =>
          void navigate({ ...(next === first[0] ? linkTo.agent(id) : linkTo.agentTab(id, next)) })
        }
      >
        <Content key={id} id={id} />
      </Tabbed>
    </ThingPage>
  );
}
