"""The vocabularies that made-up names are put together from."""

WORDS: dict[str, list[str]] = {
    "adjective": ["Small", "Ergonomic", "Rustic", "Smart", "Sleek", "Durable", "Heavy", "Light"],
    "material": ["Steel", "Wooden", "Cotton", "Granite", "Rubber", "Leather", "Wool", "Marble"],
    "product": ["Chair", "Lamp", "Table", "Hat", "Keyboard", "Clock", "Bench", "Wallet"],
    "firstname": ["Ada", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ivy", "Jonas"],
    "lastname": ["Adams", "Baker", "Clark", "Davis", "Evans", "Fisher", "Gray", "Hill", "Lewis"],
    "city": ["Aberdeen", "Bergen", "Cadiz", "Dresden", "Evora", "Florence", "Ghent", "Helsinki"],
    "country": ["Austria", "Brazil", "Canada", "Denmark", "Egypt", "France", "Ghana", "Japan"],
    "department": ["Books", "Garden", "Music", "Sports", "Tools", "Toys", "Outdoors", "Grocery"],
    "color": ["red", "green", "blue", "yellow", "black", "white", "orange", "violet"],
    "word": ["river", "source", "delta", "basin", "spring", "stream", "bank", "tide", "rapid"],
    "company": ["Northwind", "Meadow", "Harbour", "Summit", "Beacon", "Cedar", "Quarry", "Orchard"],
    "suffix": ["Ltd", "Inc", "Group", "and Sons", "LLC"],
}
