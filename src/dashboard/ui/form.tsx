// A form whose submission stays in the page: the browser's own submission would load another page.
import type { JSX, ReactNode } from 'react';

export interface FormProps {
  readonly onSubmit: () => void;
  readonly className?: string;
  readonly label?: string;
  readonly children: ReactNode;
}

export function Form({ onSubmit, className = 'form', label, children }: FormProps): JSX.Element {
  return (
    <form
      className={className}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
