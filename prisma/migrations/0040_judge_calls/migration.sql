-- AlterTable
ALTER TABLE "eval_attempt" ADD COLUMN     "failures" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "judge_call" JSONB;
