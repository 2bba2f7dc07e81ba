import { panelColumns } from "../../answers/export-table.ts";
import { PARQUET_MEDIA_TYPE } from "../../tables/parquet.ts";
import { PanelQuery } from "../../tool/export-page.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import type { Operation } from "../operation.ts";
import { PROTECTED_PROBLEMS } from "../problems.ts";
import { anyCredentialWith, scopeSentence } from "../security.ts";
import { binaryContent, csvContent } from "../tables.ts";

/** The operation that exports scores for research. */
export const exportOperations = [
  {
    id: "export_panel",
    method: "get",
    path: "/api/export",
    tag: "Market",
    summary: "Export scores, factors and prices",
    description: `Every session of a class with all its instruments, as known at its close. Pages of whole sessions: follow the header Link. Factors need \`factor:read\`. ${scopeSentence(["signals:read"])}`,
    security: anyCredentialWith("signals:read"),
    allowsAnyOrigin: true,
    query: PanelQuery,
    answers: {
      200: {
        description: "The rows, by date and symbol.",
        content: [
          csvContent({ panel: panelColumns({ dayMs: 86_400_000, hasFactors: true }) }),
          binaryContent(PARQUET_MEDIA_TYPE),
        ],
        headers: ["ETag", "Link", ...LIMIT_HEADERS],
      },
      304: { description: "Not modified.", headers: ["ETag", ...LIMIT_HEADERS] },
    },
    problems: PROTECTED_PROBLEMS,
  },
] as const satisfies readonly Operation[];
