-- AlterTable
ALTER TABLE "run" ADD COLUMN     "active_until" TIMESTAMPTZ(3);
