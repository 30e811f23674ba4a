/**
 * Joins the child runs that the lane `l` waits for, as `h (id)`: a subflow's, and those that its agent delegated to.
 */
export const CHILDREN_OF = `CROSS JOIN LATERAL (SELECT l.loops->>'child' WHERE l.loops ? 'child'
  UNION ALL SELECT jsonb_array_elements_text(l.loops->'handed')) AS h (id)`;
