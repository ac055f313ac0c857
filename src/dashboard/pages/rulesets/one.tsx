// The page of one ruleset.
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { RulesetDetail } from './detail.tsx';

export default function RulesetPage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <ThingPage
      kind="Ruleset"
      name={id}
      back={{ to: '/policies', view: 'documents', label: 'View all documents' }}
    >
      <RulesetDetail key={id} name={id} />
    </ThingPage>
  );
}
