// A choice among things of the hub, such as bundles. A short list is the browser's own control; a long one is searched
// by typing, and its code loads on demand.
import { type JSX, lazy, Suspense } from 'react';
import { Select, type SelectProps } from './form.tsx';

const Searched = lazy(() => import('./searched-choice.tsx'));

/** Options from which on nobody looks through a list. */
const manyOptions = 20;

export interface ChoiceProps extends SelectProps {
  /** Called with the typed text where the options are only a part of the hub's, so that they become its matches. */
  readonly onSearch?: ((text: string) => void) | undefined;
  /** The typed text whose matches the options are, by more than their labels. Undefined: the labels decide. */
  readonly matchesOf?: string | undefined;
}

export const Choice = ({ onSearch, matchesOf, ...props }: ChoiceProps): JSX.Element =>
  props.options.length < manyOptions && !onSearch ? (
    <Select {...props} />
  ) : (
    <Suspense fallback={<Select {...props} />}>
      <Searched {...props} {...{ onSearch, matchesOf }} />
    </Suspense>
  );
