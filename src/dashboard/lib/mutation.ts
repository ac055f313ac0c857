// Changes whose answer belongs to a page, not to a component: the live stream often reports a change before its answer
// arrives, and the component that sent it may be replaced by then.
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { ApiError } from './api.ts';

type PageMutation<R, I> = Omit<UseMutationResult<R, ApiError, I>, 'mutate'> & {
  /** `onSuccess` runs while the page keeps its address, also after the calling component is unmounted. */
  readonly mutate: (input: I, onSuccess?: (reply: R) => void) => void;
};

/**
 * @param send the request
 * @param onSuccess runs after every success, before that of the call
 */
export function usePageMutation<R, I>(
  send: (input: I) => Promise<R>,
  onSuccess: () => void,
): PageMutation<R, I> {
  const mutation = useMutation<R, ApiError, I>({ mutationFn: (input) => send(input), onSuccess });
  const { mutateAsync } = mutation;
  const mutate = useCallback<PageMutation<R, I>['mutate']>(
    (input, then) => {
      const page = location.pathname;
      mutateAsync(input).then(
        (reply) => {
          if (location.pathname === page) then?.(reply);
        },
        // The component shows `error`.
        () => {},
      );
    },
    [mutateAsync],
  );
  return { ...mutation, mutate };
}
