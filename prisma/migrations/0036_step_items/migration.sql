-- AlterTable
ALTER TABLE "step" ADD COLUMN     "items" JSONB;
