// The policies page: contracts, the compositions made from them, and the documents that agents get.
import type { JSX } from 'react';
import { useFilters } from '../../lib/search.ts';
import { Views } from '../../ui/list.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { Compositions } from '../compositions/page.tsx';
import { Contracts } from '../contracts/page.tsx';
import { Documents } from '../documents/page.tsx';

const views = [
  ['contracts', 'Contracts'],
  ['compositions', 'Compositions'],
  ['documents', 'Documents'],
] as const;

export default function Policies(): JSX.Element {
  const [{ view }] = useFilters();
  return (
    <div className="page">
      <PageHead title="Policies" />
      <Views label="Views of policies" views={views}>
        {view === 'compositions' ? <Compositions /> : view === 'documents' ? <Documents /> : <Contracts />}
      </Views>
    </div>
  );
}
