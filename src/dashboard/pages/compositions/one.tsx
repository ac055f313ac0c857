// The page of one composition.
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { CompositionDetail } from './detail.tsx';

export default function CompositionPage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <ThingPage
      kind="Composition"
      name={id}
      back={{ to: '/policies', view: 'compositions', label: 'View all compositions' }}
    >
      <CompositionDetail key={id} name={id} />
    </ThingPage>
  );
}
