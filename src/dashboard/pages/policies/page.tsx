// The policies page: contracts, the compositions made from them, and the documents that agents get.
import type { JSX } from 'react';
import { useFilters } from '../../lib/search.ts';
import { Views } from '../../ui/list.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { Bundles } from '../bundles/page.tsx';
import { Compositions } from '../compositions/page.tsx';
import { Contracts } from '../contracts/page.tsx';
import { Rulesets } from '../rulesets/page.tsx';

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

/** Bundles are for agents of `/api/v1`, rulesets for agents of `/v1`. */
const Documents = (): JSX.Element => (
  <>
    <section className="tab-part" aria-label="Bundles">
      <h2>
        Bundles <span className="tag">/api/v1</span>
      </h2>
      <Bundles />
    </section>
    <section className="tab-part" aria-label="Rulesets">
      <h2>
        Rulesets <span className="tag">/v1</span>
      </h2>
      <Rulesets />
    </section>
  </>
);
