// Ranks the results of Sphinx's search. Sphinx requires every word, and lists equal matches by their
// titles; this adds up the words that a page has, rare ones and those of headings first.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 40,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Guides answer questions; tables of results have every word.
const FACTORS = [
  [/^(faq|tutorials|howto|explanation)/, 1.5],
  [/^generated/, 0.5],
  [/./, 1],
];

function rankPages(searchTerms) {
  const { terms, titleterms, docnames, titles, filenames } = Search._index;
  const pagesOf = (index, word) => (Object.hasOwn(index, word) ? [index[word]].flat() : []);
  const scores = new Map();
  for (const term of searchTerms) {
    let words = [term];
    if (!pagesOf(terms, term).length && !pagesOf(titleterms, term).length && term.length > 3) {
      words = Object.keys(terms).filter((each) => each.includes(term));
    }
    const text = new Set(words.flatMap((word) => pagesOf(terms, word)));
    const headings = new Set(words.flatMap((word) => pagesOf(titleterms, word)));
    const pages = new Set([...text, ...headings]);
    const rarity = Math.log((docnames.length + 1) / (pages.size + 0.5));
    for (const page of pages) {
      const weight = headings.has(page) ? 25 : 10;
      scores.set(page, (scores.get(page) ?? 0) + weight * rarity);
    }
  }
  const results = [...scores].map(([page, score]) => {
    const [, factor] = FACTORS.find(([pattern]) => pattern.test(docnames[page]));
    return [docnames[page], titles[page], "", null, score * factor, filenames[page], "text"];
  });
  const best = Math.max(0, ...results.map((each) => each[4]));
  return results.filter((each) => each[4] >= best / 4);
}

if (typeof Search !== "undefined") Search.performTermsSearch = rankPages;
