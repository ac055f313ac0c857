// The page of one contract.
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { ContractDetail } from './detail.tsx';

export default function ContractPage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <ThingPage kind="Contract" name={id} back={{ to: '/policies', label: 'View all contracts' }}>
      <ContractDetail key={id} id={id} />
    </ThingPage>
  );
}
