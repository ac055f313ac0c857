// The page of one bundle.
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { BundleDetail } from './detail.tsx';

export default function BundlePage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <ThingPage
      kind="Bundle"
      name={id}
      back={{ to: '/policies', view: 'documents', label: 'View all documents' }}
    >
      <BundleDetail key={id} name={id} />
    </ThingPage>
  );
}
