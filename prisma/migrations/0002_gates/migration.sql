-- When a park is to be looked at before it falls due.
ALTER TABLE "park" ADD COLUMN "remind_at" TIMESTAMPTZ(3);
ALTER TABLE "park" ADD COLUMN "escalate_at" TIMESTAMPTZ(3);

-- The versions of a step's work that deciders replaced, oldest first.
ALTER TABLE "step" ADD COLUMN "edits" JSONB;
